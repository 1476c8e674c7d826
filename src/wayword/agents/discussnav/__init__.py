"""DiscussNav: a discussion with experts before every step."""
