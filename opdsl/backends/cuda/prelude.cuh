// What printed kernels stand on: types, loads and stores, division by numbers that are known at launch. It needs no
// header, so NVRTC compiles it as it is. Loads and stores give what opdsl/backends/cpu/storage.py gives, and kernels are
// compiled without contraction (--fmad=false), so that results have the bits of the CPU's.

template <typename Part>
struct alignas(2 * sizeof(Part)) Complex {
    Part real, imag;
};

// Elements as they lie in memory, where that is not the type that they are computed in.
struct StoredBool {
    unsigned char byte; // any other than 0 is true
};
struct Half {
    unsigned short bits;
};
struct BFloat16 {
    unsigned short bits;
};
// The format: digits of the fraction, bias of the exponent, whether there are infinities.
template <int digits, int bias, bool infinities>
struct Float8 {
    unsigned char bits;
};

// Several elements that are loaded and stored at once.
template <typename T, int count>
struct alignas(count * sizeof(T)) Pack {
    T element[count];
};

template <typename To, typename From>
__device__ inline To same_bits(From value) {
    static_assert(sizeof(To) == sizeof(From), "a value keeps its size");
    To result;
    memcpy(&result, &value, sizeof(To));
    return result;
}

__device__ inline float half_to_float(unsigned short bits) {
#ifdef __CUDA_ARCH__
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
#else
    const unsigned sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 0x1fu, fraction = bits & 0x3ffu;
    if (exponent == 0) { // zero and the denormal numbers: multiples of 2 ** -24
        const float magnitude = static_cast<float>(fraction) * 5.9604644775390625e-08f;
        return sign ? -magnitude : magnitude;
    }
    const unsigned widened = exponent == 31 ? 255u : exponent + 112u;
    const unsigned quiet = exponent == 31 && fraction ? 0x400000u : 0u;
    return same_bits<float>(sign | widened << 23 | fraction << 13 | quiet);
#endif
}

// To the nearest, ties to even.
__device__ inline unsigned short float_to_half(float value) {
#ifdef __CUDA_ARCH__
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
#else
    const unsigned bits = same_bits<unsigned>(value), sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return static_cast<unsigned short>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
    }
    if (magnitude >= 0x477ff000u) { // 65520 and more
        return static_cast<unsigned short>(sign | 0x7c00u);
    }
    if (magnitude < 0x38800000u) { // denormal: adding 0.5 moves the last bit that stays to the end of the float
        const float moved = same_bits<float>(magnitude) + 0.5f;
        return static_cast<unsigned short>(sign | (same_bits<unsigned>(moved) - 0x3f000000u));
    }
    const unsigned rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return static_cast<unsigned short>(sign | ((rounded - 0x38000000u) >> 13));
#endif
}

// To the nearest, ties to even; a NaN stays one and becomes quiet.
__device__ inline unsigned short float_to_bfloat16(float value) {
#ifdef __CUDA_ARCH__
    unsigned short bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
#else
    const unsigned bits = same_bits<unsigned>(value);
    const unsigned rounded = value != value ? bits | 0x400000u : bits + 0x7fffu + ((bits >> 16) & 1u);
    return static_cast<unsigned short>(rounded >> 16);
#endif
}

// Two numbers in one word, the first in its lower half: one instruction, where two conversions take three.
__device__ inline unsigned floats_to_halves(float first, float second) {
#ifdef __CUDA_ARCH__
    unsigned word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
    return word;
#else
    return float_to_half(first) | static_cast<unsigned>(float_to_half(second)) << 16;
#endif
}
__device__ inline unsigned floats_to_bfloat16s(float first, float second) {
#ifdef __CUDA_ARCH__
    unsigned word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
    return word;
#else
    return float_to_bfloat16(first) | static_cast<unsigned>(float_to_bfloat16(second)) << 16;
#endif
}

// Powers of two, and quotients, with an error of two units in the last place; powers below 2 ** -126 are 0.
__device__ inline float approximate_exp2f(float value) {
#ifdef __CUDA_ARCH__
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(value));
    return power;
#else
    const float power = exp2f(value);
    return power < 1.17549435082228750797e-38f ? 0.0f : power;
#endif
}
__device__ inline float approximate_dividef(float dividend, float divisor) {
#ifdef __CUDA_ARCH__
    float quotient;
    asm("div.full.f32 %0, %1, %2;" : "=f"(quotient) : "f"(dividend), "f"(divisor));
    return quotient;
#else
    return dividend / divisor;
#endif
}

template <int digits, int bias, bool infinities>
__device__ inline float float8_to_float(unsigned char bits) {
    constexpr unsigned one = 1u << digits;
    const unsigned sign = static_cast<unsigned>(bits & 0x80u) << 24, magnitude = bits & 0x7fu;
    if (infinities ? magnitude >= 0x80u - one : magnitude == 0x7fu) {
        return same_bits<float>(sign | (infinities && magnitude == 0x80u - one ? 0x7f800000u : 0x7fc00000u));
    }
    if (magnitude < one) { // zero and the denormal numbers
        const float number = static_cast<float>(magnitude) * same_bits<float>((128u - bias - digits) << 23);
        return same_bits<float>(sign | same_bits<unsigned>(number));
    }
    return same_bits<float>(sign | ((magnitude << (23 - digits)) + ((127u - bias) << 23)));
}

// To the nearest, ties to even; where there are no infinities, larger numbers become the largest.
template <int digits, int bias, bool infinities>
__device__ inline unsigned char float_to_float8(float value) {
    constexpr int dropped = 23 - digits;
    constexpr unsigned most = infinities ? 0x80u - (1u << digits) : 0x7eu;
    const unsigned bits = same_bits<unsigned>(value), sign = (bits >> 24) & 0x80u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return static_cast<unsigned char>(sign | 0x7fu);
    }
    if (magnitude < (128u - bias) << 23) { // denormal: the sum has the distance of denormal numbers
        constexpr unsigned shift = (151u - bias - digits) << 23;
        const float moved = same_bits<float>(magnitude) + same_bits<float>(shift);
        return static_cast<unsigned char>(sign | (same_bits<unsigned>(moved) - shift));
    }
    const unsigned rounded = magnitude + ((1u << (dropped - 1)) - 1u) + ((magnitude >> dropped) & 1u);
    const unsigned number = (rounded - ((127u - bias) << 23)) >> dropped;
    return static_cast<unsigned char>(sign | (number < most ? number : most));
}

template <typename T>
__device__ inline T load(T element) {
    return element;
}
__device__ inline bool load(StoredBool element) { return element.byte != 0; }
__device__ inline float load(Half element) { return half_to_float(element.bits); }
__device__ inline float load(BFloat16 element) {
    return same_bits<float>(static_cast<unsigned>(element.bits) << 16);
}

template <int digits, int bias, bool infinities>
__device__ inline float load(Float8<digits, bias, infinities> element) {
    return float8_to_float<digits, bias, infinities>(element.bits);
}

template <typename T>
__device__ inline void store(T& element, T value) {
    element = value;
}
__device__ inline void store(StoredBool& element, bool value) { element.byte = value; }
__device__ inline void store(Half& element, float value) { element.bits = float_to_half(value); }
__device__ inline void store(BFloat16& element, float value) { element.bits = float_to_bfloat16(value); }
template <int digits, int bias, bool infinities>
__device__ inline void store(Float8<digits, bias, infinities>& element, float value) {
    element.bits = float_to_float8<digits, bias, infinities>(value);
}

// Division of 32-bit numbers by one that is known at launch, without a division. Granlund and Montgomery, "Division by
// invariant integers using multiplication", PLDI 1994, figure 4.1.
struct Divider {
    unsigned divisor, multiplier, shift;

    __device__ unsigned quotient(unsigned value) const {
        const unsigned high = __umulhi(value, multiplier);
        return (high + ((value - high) >> (shift > 0))) >> (shift > 0 ? shift - 1 : 0);
    }
};
struct WideDivider {
    unsigned long long divisor;

    __device__ unsigned long long quotient(unsigned long long value) const { return value / divisor; }
};

// Sizes and strides in bytes, innermost first.
template <typename Division, typename Position, typename Offset, int operands, int dimensions>
struct Layout {
    Division sizes[dimensions];
    Offset strides[dimensions][operands];

    __device__ void offsets(unsigned long long position, long long* found) const {
        Position rest = static_cast<Position>(position);
        Offset sums[operands] = {};
#pragma unroll
        for (int d = 0; d < dimensions; ++d) {
            const Position outer = d + 1 < dimensions ? sizes[d].quotient(rest) : 0;
            const Offset inner = static_cast<Offset>(rest - outer * sizes[d].divisor);
#pragma unroll
            for (int k = 0; k < operands; ++k) {
                sums[k] += inner * strides[d][k];
            }
            rest = outer;
        }
#pragma unroll
        for (int k = 0; k < operands; ++k) {
            found[k] += sums[k];
        }
    }
};

// For tensors within 2 ** 31 bytes, and for larger ones.
template <int operands, int dimensions>
using Narrow = Layout<Divider, unsigned, int, operands, dimensions>;
template <int operands, int dimensions>
using Wide = Layout<WideDivider, unsigned long long, long long, operands, dimensions>;
