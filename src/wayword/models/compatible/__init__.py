"""Speaking to servers with OpenAI's interface: requests, answers, errors, and ranking."""
