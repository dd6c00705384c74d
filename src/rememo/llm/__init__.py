"""Language models: how they are asked, what they are told, and what may be spent on them. Nothing needs one."""
