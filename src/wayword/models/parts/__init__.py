"""Code that model backends share.

opening      open a model by name, with its wrappers
weights      weight files: find, fetch, verify
gguf         GGUF files: context length, conversion
llamacpp     a GGUF file in this process, and a server for it
decoding     constrained answers, boundaries of options, reasoning text
"""
