// Multiplies each row by a factor of its own.
extern "C" __global__ void scale_rows(
    const self_t* self, long long self_stride_0, long long self_stride_1, const float* factors, // one for each row
    out_t* out, long long out_size_1, long long out_numel) {
    const long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (at < out_numel) {
        const long long row = at / out_size_1, column = at % out_size_1;
        store(out[at], load(self[row * self_stride_0 + column * self_stride_1]) * factors[row]);
    }
}
