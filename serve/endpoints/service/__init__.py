"""The API's description of itself: its endpoints, its OpenAPI document, its state."""
