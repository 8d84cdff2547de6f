"""The guide: the Markdown pages of docs/, rendered once and served at /guide/."""
