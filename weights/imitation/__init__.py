"""DAgger training of the agent ``imitation``, which asks no language model.

trainer     the loop, from a folder of data to checkpoints
network     its network, and the ONNX file that the agent plays
tables      scenes and episodes as arrays, and many walks at once
"""
