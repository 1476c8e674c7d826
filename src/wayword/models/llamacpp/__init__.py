"""llama.cpp inside this process, through the xllamacpp bindings."""
