"""Speaking to servers with OpenAI's interface: ``requests`` out, ``answers`` in."""
