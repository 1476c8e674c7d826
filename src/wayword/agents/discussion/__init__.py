"""Parts of DiscussNav: its directions, the experts it asks, the forms they answer in."""
