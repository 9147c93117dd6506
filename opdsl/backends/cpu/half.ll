; Conversions from and to half that LLVM leaves to a runtime library, which a process need not have: from double
; everywhere, from and to float on processors without an instruction for it. By integers, since an instruction of LLVM
; for any of them would call these functions again. All round to the nearest, ties to even; a NaN keeps the upper bits
; of its payload and becomes quiet.

define internal i16 @half_bits(i32 %bits) alwaysinline {
entry:
  %magnitude = and i32 %bits, 2147483647
  %sign = lshr i32 %bits, 16
  %sign_bit = and i32 %sign, 32768

  ; from 2^-14 on: half of the last bit kept is added, less 1 where that bit is even, and the exponent changes its bias
  %shifted = lshr i32 %magnitude, 13
  %odd = and i32 %shifted, 1
  %biased = add i32 %magnitude, 3355447295              ; 4095 - (112 << 23), modulo 2^32
  %rounded = add i32 %biased, %odd
  %normal = lshr i32 %rounded, 13

  ; below: 0.5 has the last bit of the smallest half, so that the addition of floats rounds
  %value = bitcast i32 %magnitude to float
  %aligned = fadd float %value, 5.000000e-01
  %aligned_bits = bitcast float %aligned to i32
  %small = sub i32 %aligned_bits, 1056964608            ; the bits of 0.5
  %is_small = icmp ult i32 %magnitude, 947912704        ; 2^-14
  %finite = select i1 %is_small, i32 %small, i32 %normal

  %is_large = icmp uge i32 %magnitude, 1199570944       ; 2^16; what is rounded to it is infinite already
  %bounded = select i1 %is_large, i32 31744, i32 %finite
  %payload = and i32 %shifted, 1023
  %quiet = or i32 %payload, 32256
  %is_nan = icmp ugt i32 %magnitude, 2139095040
  %unsigned = select i1 %is_nan, i32 %quiet, i32 %bounded
  %whole = or i32 %unsigned, %sign_bit
  %half = trunc i32 %whole to i16
  ret i16 %half
}

define half @half_of_float(float %value) {
  %bits = bitcast float %value to i32
  %half_bits = call i16 @half_bits(i32 %bits)
  %half = bitcast i16 %half_bits to half
  ret half %half
}

; The float on the way is cut off, and its last bit says whether anything was: so it is rounded once.
define half @half_of_double(double %value) {
  %near = fptrunc double %value to float
  %back = fpext float %near to double
  %bits = bitcast float %near to i32
  %near_magnitude = call double @llvm.fabs.f64(double %back)
  %magnitude = call double @llvm.fabs.f64(double %value)
  %is_inexact = fcmp one double %near_magnitude, %magnitude
  %is_beyond = fcmp ogt double %near_magnitude, %magnitude
  %step = zext i1 %is_beyond to i32
  %cut = sub i32 %bits, %step
  %marked = or i32 %cut, 1
  %chosen = select i1 %is_inexact, i32 %marked, i32 %bits
  %half_bits = call i16 @half_bits(i32 %chosen)
  %half = bitcast i16 %half_bits to half
  ret half %half
}

define float @float_of_half(half %half) {
  %half_bits = bitcast half %half to i16
  %wide = zext i16 %half_bits to i32
  %sign_bit = and i32 %wide, 32768
  %sign = shl i32 %sign_bit, 16
  %half_magnitude = and i32 %wide, 32767
  %magnitude = shl i32 %half_magnitude, 13
  %normal = add i32 %magnitude, 939524096               ; 112 << 23: the other bias

  ; below 2^-14: as a float of the exponent of 2^-14, which is subtracted
  %small_bits = or i32 %magnitude, 947912704
  %small_sum = bitcast i32 %small_bits to float
  %small_value = fsub float %small_sum, 0x3F10000000000000
  %small = bitcast float %small_value to i32
  %is_small = icmp ult i32 %half_magnitude, 1024
  %finite = select i1 %is_small, i32 %small, i32 %normal

  %special = or i32 %magnitude, 2139095040              ; infinite
  %is_special = icmp uge i32 %half_magnitude, 31744
  %unsigned = select i1 %is_special, i32 %special, i32 %finite
  %quiet = or i32 %unsigned, 4194304
  %is_nan = icmp ugt i32 %half_magnitude, 31744
  %defined = select i1 %is_nan, i32 %quiet, i32 %unsigned
  %whole = or i32 %defined, %sign
  %value = bitcast i32 %whole to float
  ret float %value
}

declare double @llvm.fabs.f64(double)
