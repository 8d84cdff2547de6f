"""What the API says of itself: its endpoints, its description, its state."""
