"""Endpoint: the HTTP client for model servers, with retries, deadlines, cancellation and a circuit breaker."""
