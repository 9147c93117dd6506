// Products of tiles in shared memory, which all threads of a block compute together: out[i, j] (+)= sum of
// left[i, k] * right[k, j], or of left[i, k] * right[j, k]. Before and after one all threads wait.
//
// Sizes are multiples of 16. Tensor cores multiply 16-bit floats, and round the left numbers to their type; other numbers
// are multiplied by threads, of which each takes several rows and columns, so that loaded numbers are used often.

// Number of threads of a block, and of a warp; rows and columns of a fragment, and products that are summed at once.
constexpr int PRODUCT_THREADS = 256;
constexpr int PRODUCT_WARP = 32;
constexpr int FRAGMENT_ROWS = 16, FRAGMENT_COLUMNS = 8, FRAGMENT_INNER = 16;

// Two neighbours in one word, the first in its lower half.
__device__ inline unsigned pair_of(Half, float first, float second) { return floats_to_halves(first, second); }
__device__ inline unsigned pair_of(BFloat16, float first, float second) { return floats_to_bfloat16s(first, second); }

#ifndef __CUDA_ARCH__
// The fragments are those of PTX's mma.m16n8k16: the lane 4 * g + t has rows g and g + 8 of the left matrix, column g of
// the right one, and columns 2 * t and 2 * t + 1 of the sums.
template <typename Stored>
__device__ inline void multiply_fragments(
    Stored, float (&sums)[4], const unsigned (&left)[4], const unsigned (&right)[2]) {
    const int lane = threadIdx.x % PRODUCT_WARP;
    float one[2][16], other[2][16];
    for (int word = 0; word < 4; ++word) {
        for (int t = 0; t < 4; ++t) {
            const unsigned received = __shfl_sync(0xffffffffu, left[word], lane / 4 * 4 + t);
            for (int half = 0; half < 2; ++half) {
                one[word % 2][word / 2 * 8 + 2 * t + half] =
                    load(Stored{static_cast<unsigned short>(received >> (16 * half))});
            }
        }
    }
    for (int column = 0; column < 2; ++column) {
        for (int word = 0; word < 2; ++word) {
            for (int t = 0; t < 4; ++t) {
                const unsigned received = __shfl_sync(0xffffffffu, right[word], (lane % 4 * 2 + column) * 4 + t);
                for (int half = 0; half < 2; ++half) {
                    other[column][word * 8 + 2 * t + half] =
                        load(Stored{static_cast<unsigned short>(received >> (16 * half))});
                }
            }
        }
    }
    for (int at = 0; at < 4; ++at) {
        for (int k = 0; k < 16; ++k) {
            sums[at] += one[at / 2][k] * other[at % 2][k];
        }
    }
}
#else
#define MULTIPLY_FRAGMENTS(Stored, type)                                                                              \
    __device__ inline void multiply_fragments(                                                                        \
        Stored, float (&sums)[4], const unsigned (&left)[4], const unsigned (&right)[2]) {                            \
        asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 "                                            \
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                         \
            : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])                                              \
            : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));                  \
    }
MULTIPLY_FRAGMENTS(Half, "f16")
MULTIPLY_FRAGMENTS(BFloat16, "bf16")
#undef MULTIPLY_FRAGMENTS
#endif

// Two neighbours of a row as numbers of the right matrix's type; the first one is at an even place.
template <typename Right>
__device__ inline unsigned neighbours_at(const float* place) {
    return pair_of(Right{}, place[0], place[1]);
}
template <typename Right>
__device__ inline unsigned neighbours_at(const Right* place) {
    return *reinterpret_cast<const unsigned*>(place);
}

template <int rows, int inner, int columns, int out_step, int left_step, int right_step, bool transposed, bool adds,
          typename Left, typename Right>
__device__ inline void multiply_by_tensor_cores(float* out, const Left* left, const Right* right) {
    constexpr int warps = PRODUCT_THREADS / PRODUCT_WARP, strips = rows / FRAGMENT_ROWS;
    // A warp takes a strip of rows, and of its columns the fragments that other warps of the strip do not take.
    constexpr int sharing = warps / strips, fragments = columns / FRAGMENT_COLUMNS;
    constexpr int own = fragments < sharing ? 1 : fragments / sharing + (fragments % sharing != 0);
    static_assert(warps % strips == 0, "each strip of rows has as many warps");
    const int lane = threadIdx.x % PRODUCT_WARP, warp = threadIdx.x / PRODUCT_WARP;
    const int group = lane / 4, pair = lane % 4 * 2, first = warp % sharing * own;
    const int row = warp / sharing * FRAGMENT_ROWS + group;
    float sums[own][4] = {};
#pragma unroll 4
    for (int k = 0; k < inner; k += FRAGMENT_INNER) {
        unsigned one[4];
#pragma unroll
        for (int word = 0; word < 4; ++word) {
            one[word] = neighbours_at<Right>(&left[(row + word % 2 * 8) * left_step + k + pair + word / 2 * 8]);
        }
#pragma unroll
        for (int at = 0; at < own; ++at) {
            if (first + at < fragments) {
                const int column = (first + at) * FRAGMENT_COLUMNS + group;
                unsigned other[2];
#pragma unroll
                for (int word = 0; word < 2; ++word) {
                    const int place = k + pair + word * 8;
                    if constexpr (transposed) {
                        other[word] = neighbours_at<Right>(&right[column * right_step + place]);
                    } else {
                        other[word] = right[place * right_step + column].bits |
                                      static_cast<unsigned>(right[(place + 1) * right_step + column].bits) << 16;
                    }
                }
                multiply_fragments(Right{}, sums[at], one, other);
            }
        }
    }
#pragma unroll
    for (int at = 0; at < own; ++at) {
        if (first + at < fragments) {
#pragma unroll
            for (int half = 0; half < 4; ++half) {
                const int column = (first + at) * FRAGMENT_COLUMNS + pair + half % 2;
                float& element = out[(row + half / 2 * 8) * out_step + column];
                element = adds ? element + sums[at][half] : sums[at][half];
            }
        }
    }
}

// Rows of threads share columns, and each thread takes every sixteenth row and column, of up to 64 columns at once.
template <int rows, int inner, int columns, int out_step, int left_step, int right_step, bool transposed, bool adds,
          typename Number>
__device__ inline void multiply_by_threads(Number* out, const Number* left, const Number* right) {
    constexpr int side = 16, down = rows / side, most = 4, across = columns / side < most ? columns / side : most;
    const int row = threadIdx.x / side, column = threadIdx.x % side;
#pragma unroll 1
    for (int begin = 0; begin < columns; begin += across * side) {
        Number sums[down][across] = {};
#pragma unroll 4
        for (int k = 0; k < inner; ++k) {
            Number one[down], other[across] = {};
#pragma unroll
            for (int i = 0; i < down; ++i) {
                one[i] = left[(row + i * side) * left_step + k];
            }
#pragma unroll
            for (int j = 0; j < across; ++j) {
                const int place = begin + column + j * side;
                if (columns % (across * side) == 0 || place < columns) {
                    other[j] = transposed ? right[place * right_step + k] : right[k * right_step + place];
                }
            }
#pragma unroll
            for (int i = 0; i < down; ++i) {
#pragma unroll
                for (int j = 0; j < across; ++j) {
                    sums[i][j] = fma(one[i], other[j], sums[i][j]);
                }
            }
        }
#pragma unroll
        for (int i = 0; i < down; ++i) {
#pragma unroll
            for (int j = 0; j < across; ++j) {
                const int place = begin + column + j * side;
                if (columns % (across * side) == 0 || place < columns) {
                    Number& element = out[(row + i * side) * out_step + place];
                    element = adds ? element + sums[i][j] : sums[i][j];
                }
            }
        }
    }
}

template <int rows, int inner, int columns, int out_step, int left_step, int right_step, bool transposed, bool adds,
          typename Out, typename Left, typename Right>
__device__ inline void multiply_tiles(Out* out, const Left* left, const Right* right) {
    static_assert(rows % 16 == 0 && inner % 16 == 0 && columns % 16 == 0, "tiles are whole numbers of fragments");
    if constexpr (sizeof(Right) == 2) {
        multiply_by_tensor_cores<rows, inner, columns, out_step, left_step, right_step, transposed, adds>(
            out, left, right);
    } else {
        multiply_by_threads<rows, inner, columns, out_step, left_step, right_step, transposed, adds>(
            out, left, right);
    }
}
