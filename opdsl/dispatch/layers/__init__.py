"""What is done around kernels, each a kernel that calls the next one."""
