"""What an endpoint is declared with: parameters, bodies, errors, and the OpenAPI text made of them."""
