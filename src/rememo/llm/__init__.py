"""Language models: clients, prompts, structured answers and the spending ledger. Nothing needs a model."""
