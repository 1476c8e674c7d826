"""Client of OpenAI-compatible servers: profile, requests, connection, answers."""
