"""The pages for people: the explorer, the reference of the API, and the header that they share with the guide."""
