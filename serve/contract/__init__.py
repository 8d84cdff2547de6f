"""How an endpoint is declared: parameters, bodies, errors, and the OpenAPI document derived from them."""
