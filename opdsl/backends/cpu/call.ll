; The entry of every kernel call: a METH_FASTCALL function whose `self` is the plan.
;
; It takes the operands' addresses and numbers into a frame, makes the outputs, and runs the plan's loop over the frame.
; The plan is the data of an ndarray (opdsl.backends.cpu.builtin writes it), so that `self` owns everything that the
; call uses. A frame is the plan's address, then 16 bytes for each operand: an address, or a number as double, i64, or two
; doubles.

%plan = type {
  ptr,    ;  0 the loop: void (frame, begin, end)
  i64,    ;  1 elements
  i64,    ;  2 elements of the smallest piece worth a thread; 0 keeps the call on this thread, under the GIL
  i64,    ;  3 number of inputs
  i64,    ;  4 number of outputs
  i64,    ;  5 number of arguments: the inputs, then the outputs that are given
  ptr,    ;  6 inputs
  ptr,    ;  7 outputs
  i64,    ;  8 every piece but the last is a multiple of so many elements
  i64,    ;  9 bytes of scratch memory for the loop, its address behind the operands in the frame; 0 for none
  ptr     ; 10 what runs after the loop: void (frame), or null
}
%input = type {
  i64,    ;  kind: ARRAY, FLOAT, INTEGER, TRUTH, COMPLEX or WORD
  i64,    ;  smallest integer allowed
  i64     ;  largest
}
%form = type {
  i64,    ;  0 number of words of the plan
  ptr,    ;  1 the words
  i64,    ;  2 number of integers that come with a call
  i64,    ;  3 number of words that they are put into
  ptr,    ;  4 of each, which word, and which integer
  i64,    ;  5 number of words that are addresses of others
  ptr     ;  6 of each, which word, and of which
}
%output = type {
  i64,    ;  kind: GIVEN, NEW (by NumPy) or CALL (by a Python function)
  ptr,    ;  its dtype, or the function
  i64,    ;  dimensions
  ptr,    ;  shape
  ptr     ;  strides in bytes, or null for contiguous ones
}

@PyArray_Type = external global i8
@PyLong_Type = external global i8
@PyExc_TypeError = external global ptr
@PyExc_OverflowError = external global ptr
@wrong_count = internal constant [58 x i8] c"kernel: the number of arguments is not what its plan says\00"
@wrong_type = internal constant [47 x i8] c"kernel: an operand is not a numpy.ndarray here\00"
@too_large = internal constant [47 x i8] c"kernel: a number does not fit the loop's dtype\00"

declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare i32 @PyType_IsSubtype(ptr, ptr)
declare double @PyFloat_AsDouble(ptr)
declare double @PyComplex_RealAsDouble(ptr)
declare double @PyComplex_ImagAsDouble(ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare i64 @PyLong_AsUnsignedLongLong(ptr)
declare i32 @PyObject_IsTrue(ptr)
declare ptr @PyErr_Occurred()
declare ptr @PyErr_NoMemory()
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @PyErr_SetString(ptr, ptr)
declare ptr @PyObject_CallNoArgs(ptr)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyArray_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare i64 @llvm.smax.i64(i64, i64)

define internal void @refuse(ptr %kind_field, ptr %text) noinline cold {
  %kind = load ptr, ptr %kind_field
  call void @PyErr_SetString(ptr %kind, ptr %text)
  ret void
}

; The data address of an ndarray into a frame's slot; false with an exception for anything else.
define internal i1 @take_array(ptr %object, ptr %slot) alwaysinline {
  %type_field = getelementptr i8, ptr %object, i64 TYPE_OFFSET
  %type = load ptr, ptr %type_field
  %exact = icmp eq ptr %type, @PyArray_Type
  br i1 %exact, label %good, label %look
look:
  %derived = call i32 @PyType_IsSubtype(ptr %type, ptr @PyArray_Type)
  %is_derived = icmp ne i32 %derived, 0
  br i1 %is_derived, label %good, label %bad
good:
  %data_field = getelementptr i8, ptr %object, i64 DATA_OFFSET
  %data = load ptr, ptr %data_field
  store ptr %data, ptr %slot
  ret i1 true
bad:
  call void @refuse(ptr @PyExc_TypeError, ptr @wrong_type)
  ret i1 false
}

; A Python number into a frame's slot; false with an exception when it does not fit.
define internal i1 @take_number(ptr %object, ptr %input, i64 %kind, ptr %slot) noinline {
  switch i64 %kind, label %truth [ i64 FLOAT, label %float
                                   i64 INTEGER, label %integer
                                   i64 COMPLEX, label %complex
                                   i64 WORD, label %word ]
complex:
  %imaginary = call double @PyComplex_ImagAsDouble(ptr %object)
  %second = getelementptr i8, ptr %slot, i64 8
  store double %imaginary, ptr %second
  %real_part = call double @PyComplex_RealAsDouble(ptr %object)
  store double %real_part, ptr %slot
  br label %size
float:
  %real = call double @PyFloat_AsDouble(ptr %object)
  store double %real, ptr %slot
  %suspect = fcmp oeq double %real, -1.0
  br i1 %suspect, label %ask, label %size
size:  ; of an int, which has to fit 64 bits whatever becomes of it
  %value = phi double [ %real_part, %complex ], [ %real, %float ]
  %is_high = fcmp oge double %value, 0x43E0000000000000
  %is_low = fcmp ole double %value, 0xC3E0000000000000
  %is_large = or i1 %is_high, %is_low
  br i1 %is_large, label %look, label %ask_complex
look:
  %number_type_field = getelementptr i8, ptr %object, i64 TYPE_OFFSET
  %number_type = load ptr, ptr %number_type_field
  %is_int = icmp eq ptr %number_type, @PyLong_Type
  br i1 %is_int, label %fit, label %good
fit:
  %fitted = call i64 @PyLong_AsLongLong(ptr %object)
  br label %ask
ask_complex:
  %is_complex = icmp eq i64 %kind, COMPLEX
  br i1 %is_complex, label %ask, label %good
integer:
  %whole = call i64 @PyLong_AsLongLong(ptr %object)
  store i64 %whole, ptr %slot
  %low_field = getelementptr %input, ptr %input, i32 0, i32 1
  %low = load i64, ptr %low_field
  %high_field = getelementptr %input, ptr %input, i32 0, i32 2
  %high = load i64, ptr %high_field
  %below = icmp slt i64 %whole, %low
  %above = icmp sgt i64 %whole, %high
  %outside = or i1 %below, %above
  br i1 %outside, label %overflow, label %inside
inside:
  %odd = icmp eq i64 %whole, -1
  br i1 %odd, label %ask, label %good
word:  ; 64 bits, with a sign or without
  %with_sign = call i64 @PyLong_AsLongLong(ptr %object)
  store i64 %with_sign, ptr %slot
  %strange = icmp eq i64 %with_sign, -1
  br i1 %strange, label %ask_word, label %good
ask_word:
  %word_error = call ptr @PyErr_Occurred()
  %word_fine = icmp eq ptr %word_error, null
  br i1 %word_fine, label %good, label %large_word
large_word:
  call void @PyErr_Clear()
  %without_sign = call i64 @PyLong_AsUnsignedLongLong(ptr %object)
  store i64 %without_sign, ptr %slot
  %stranger = icmp eq i64 %without_sign, -1
  br i1 %stranger, label %ask, label %good
truth:
  %answer = call i32 @PyObject_IsTrue(ptr %object)
  %flag = sext i32 %answer to i64
  store i64 %flag, ptr %slot
  %failed = icmp slt i32 %answer, 0
  br i1 %failed, label %bad, label %good
ask:
  %error = call ptr @PyErr_Occurred()
  %fine = icmp eq ptr %error, null
  br i1 %fine, label %good, label %bad
overflow:
  %already = call ptr @PyErr_Occurred()
  %no_error = icmp eq ptr %already, null
  br i1 %no_error, label %say, label %bad
say:
  call void @refuse(ptr @PyExc_OverflowError, ptr @too_large)
  br label %bad
good:
  ret i1 true
bad:
  ret i1 false
}

; A new array, or null with an exception.
define internal ptr @new_array(ptr %output, i64 %kind) alwaysinline {
  %maker_field = getelementptr %output, ptr %output, i32 0, i32 1
  %maker = load ptr, ptr %maker_field
  %by_numpy = icmp eq i64 %kind, NEW
  br i1 %by_numpy, label %numpy, label %function
numpy:
  %dimensions_field = getelementptr %output, ptr %output, i32 0, i32 2
  %dimensions = load i64, ptr %dimensions_field
  %dimensions_32 = trunc i64 %dimensions to i32
  %shape_field = getelementptr %output, ptr %output, i32 0, i32 3
  %shape = load ptr, ptr %shape_field
  %strides_field = getelementptr %output, ptr %output, i32 0, i32 4
  %strides = load ptr, ptr %strides_field
  call void @Py_IncRef(ptr %maker)                  ; NumPy takes a reference, also when it fails
  %made = call ptr @PyArray_NewFromDescr(ptr @PyArray_Type, ptr %maker, i32 %dimensions_32, ptr %shape, ptr %strides,
                                         ptr null, i32 0, ptr null)
  ret ptr %made
function:
  %got = call ptr @PyObject_CallNoArgs(ptr %maker)
  ret ptr %got
}

; Where the frame has the address of the scratch memory.
define internal ptr @scratch_slot(ptr %frame, ptr %plan) alwaysinline {
  %inputs_field = getelementptr %plan, ptr %plan, i32 0, i32 3
  %inputs = load i64, ptr %inputs_field
  %outputs_field = getelementptr %plan, ptr %plan, i32 0, i32 4
  %outputs = load i64, ptr %outputs_field
  %operands = add i64 %inputs, %outputs
  %slot = add i64 %operands, 1
  %word = mul i64 %slot, 2
  %place = getelementptr i64, ptr %frame, i64 %word
  ret ptr %place
}

define internal ptr @scratch_of(ptr %frame, ptr %plan) alwaysinline {
  %place = call ptr @scratch_slot(ptr %frame, ptr %plan)
  %scratch = load ptr, ptr %place
  ret ptr %scratch
}

; Run the plan's loop over a filled frame; false with an exception when there is no memory for it.
define internal i1 @run(ptr %plan, ptr %frame) alwaysinline {
  %scratch_field = getelementptr %plan, ptr %plan, i32 0, i32 9
  %scratch_bytes = load i64, ptr %scratch_field
  %no_scratch = icmp eq i64 %scratch_bytes, 0
  br i1 %no_scratch, label %plain, label %with_scratch
plain:
  call void @run_loop(ptr %plan, ptr %frame)
  ret i1 true
with_scratch:
  %scratch = call ptr @malloc(i64 %scratch_bytes)
  %missing = icmp eq ptr %scratch, null
  br i1 %missing, label %no_memory, label %good
no_memory:
  %nothing = call ptr @PyErr_NoMemory()
  ret i1 false
good:
  %slot = call ptr @scratch_slot(ptr %frame, ptr %plan)
  store ptr %scratch, ptr %slot
  call void @run_loop(ptr %plan, ptr %frame)
  call void @free(ptr %scratch)
  ret i1 true
}

; The same for other entries than kernel_call, which fill frames themselves.
define i1 @run_frame(ptr %plan, ptr %frame) {
  %done = call i1 @run(ptr %plan, ptr %frame)
  ret i1 %done
}

define internal void @run_loop(ptr %plan, ptr %frame) alwaysinline {
  %loop = load ptr, ptr %plan
  %size_field = getelementptr %plan, ptr %plan, i32 0, i32 1
  %size = load i64, ptr %size_field
  %grain_field = getelementptr %plan, ptr %plan, i32 0, i32 2
  %grain = load i64, ptr %grain_field
  %after_field = getelementptr %plan, ptr %plan, i32 0, i32 10
  %after = load ptr, ptr %after_field
  %small = icmp eq i64 %grain, 0
  br i1 %small, label %here, label %large
here:
  call void %loop(ptr %frame, i64 0, i64 %size)
  call void @run_after(ptr %after, ptr %frame)
  ret void
large:
  %state = call ptr @PyEval_SaveThread()
  %threads = call i64 @pool_get_threads()
  %pieces = mul i64 %threads, PIECES_FOR_EACH_THREAD
  %pieces_less = sub i64 %pieces, 1
  %rounded = add i64 %size, %pieces_less
  %share = sdiv i64 %rounded, %pieces
  %wanted = call i64 @llvm.smax.i64(i64 %share, i64 %grain)
  %unit_field = getelementptr %plan, ptr %plan, i32 0, i32 8
  %unit = load i64, ptr %unit_field
  %unit_less = sub i64 %unit, 1
  %wanted_up = add i64 %wanted, %unit_less
  %units = sdiv i64 %wanted_up, %unit
  %piece = mul i64 %units, %unit
  call void @pool_run(ptr %loop, ptr %frame, i64 %size, i64 %piece)
  call void @run_after(ptr %after, ptr %frame)
  call void @PyEval_RestoreThread(ptr %state)
  ret void
}

define internal void @run_after(ptr %after, ptr %frame) alwaysinline {
  %none = icmp eq ptr %after, null
  br i1 %none, label %end, label %call
call:
  call void %after(ptr %frame)
  br label %end
end:
  ret void
}

; One result as it is, several as a tuple. Takes over the references.
define internal ptr @hand_out(ptr %results, i64 %count) alwaysinline {
entry:
  %single = icmp eq i64 %count, 1
  br i1 %single, label %one, label %several
one:
  %only = load ptr, ptr %results
  ret ptr %only
several:
  %tuple = call ptr @PyTuple_New(i64 %count)
  %missing = icmp eq ptr %tuple, null
  br i1 %missing, label %drop, label %fill
drop:
  call void @drop_results(ptr %results, i64 %count)
  ret ptr null
fill:
  %i = phi i64 [ 0, %several ], [ %i_1, %fill_one ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %fill_one, label %end
fill_one:
  %place = getelementptr ptr, ptr %results, i64 %i
  %result = load ptr, ptr %place
  %set = call i32 @PyTuple_SetItem(ptr %tuple, i64 %i, ptr %result)
  %i_1 = add i64 %i, 1
  br label %fill
end:
  ret ptr %tuple
}

define internal void @drop_results(ptr %results, i64 %count) noinline cold {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i_1, %drop ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %drop, label %end
drop:
  %place = getelementptr ptr, ptr %results, i64 %i
  %result = load ptr, ptr %place
  call void @Py_DecRef(ptr %result)
  %i_1 = add i64 %i, 1
  br label %loop
end:
  ret void
}

define ptr @kernel_call(ptr %self, ptr %arguments, i64 %given) {
  %plan_field = getelementptr i8, ptr %self, i64 DATA_OFFSET
  %plan = load ptr, ptr %plan_field
  %result = call ptr @call_plan(ptr %plan, ptr %arguments, i64 %given)
  ret ptr %result
}

; A plan whose sizes come with the call: its first arguments are integers that are put into a copy of its words.
define ptr @form_call(ptr %self, ptr %arguments, i64 %given) {
entry:
  %form_field = getelementptr i8, ptr %self, i64 DATA_OFFSET
  %form = load ptr, ptr %form_field
  %count = load i64, ptr %form
  %words_field = getelementptr %form, ptr %form, i32 0, i32 1
  %words = load ptr, ptr %words_field
  %values_field = getelementptr %form, ptr %form, i32 0, i32 2
  %values = load i64, ptr %values_field
  %enough = icmp sge i64 %given, %values
  br i1 %enough, label %copy, label %count_wrong
count_wrong:
  call void @refuse(ptr @PyExc_TypeError, ptr @wrong_count)
  ret ptr null
copy:
  %plan = alloca i64, i64 %count, align 16
  %numbers = alloca i64, i64 %values, align 16
  %bytes = mul i64 %count, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %plan, ptr %words, i64 %bytes, i1 false)
  br label %take
take:
  %i = phi i64 [ 0, %copy ], [ %i_1, %taken ]
  %more = icmp slt i64 %i, %values
  br i1 %more, label %take_one, label %patch
take_one:
  %argument_place = getelementptr ptr, ptr %arguments, i64 %i
  %argument = load ptr, ptr %argument_place
  %number = call i64 @PyLong_AsLongLong(ptr %argument)
  %number_place = getelementptr i64, ptr %numbers, i64 %i
  store i64 %number, ptr %number_place
  %i_1 = add i64 %i, 1
  %odd = icmp eq i64 %number, -1
  br i1 %odd, label %ask, label %taken
ask:
  %error = call ptr @PyErr_Occurred()
  %fine = icmp eq ptr %error, null
  br i1 %fine, label %taken, label %bad
bad:
  ret ptr null
taken:
  br label %take
patch:
  %patches_field = getelementptr %form, ptr %form, i32 0, i32 3
  %patches = load i64, ptr %patches_field
  %patch_list_field = getelementptr %form, ptr %form, i32 0, i32 4
  %patch_list = load ptr, ptr %patch_list_field
  br label %patch_next
patch_next:
  %p = phi i64 [ 0, %patch ], [ %p_1, %patch_one ]
  %more_patches = icmp slt i64 %p, %patches
  br i1 %more_patches, label %patch_one, label %point
patch_one:
  %patch_word = mul i64 %p, 2
  %where_field = getelementptr i64, ptr %patch_list, i64 %patch_word
  %where = load i64, ptr %where_field
  %which_field = getelementptr i64, ptr %where_field, i64 1
  %which = load i64, ptr %which_field
  %value_place = getelementptr i64, ptr %numbers, i64 %which
  %value = load i64, ptr %value_place
  %target = getelementptr i64, ptr %plan, i64 %where
  store i64 %value, ptr %target
  %p_1 = add i64 %p, 1
  br label %patch_next
point:
  %pointers_field = getelementptr %form, ptr %form, i32 0, i32 5
  %pointers = load i64, ptr %pointers_field
  %pointer_list_field = getelementptr %form, ptr %form, i32 0, i32 6
  %pointer_list = load ptr, ptr %pointer_list_field
  br label %point_next
point_next:
  %q = phi i64 [ 0, %point ], [ %q_1, %point_one ]
  %more_pointers = icmp slt i64 %q, %pointers
  br i1 %more_pointers, label %point_one, label %run
point_one:
  %pointer_word = mul i64 %q, 2
  %from_field = getelementptr i64, ptr %pointer_list, i64 %pointer_word
  %from = load i64, ptr %from_field
  %to_field = getelementptr i64, ptr %from_field, i64 1
  %to = load i64, ptr %to_field
  %address = getelementptr i64, ptr %plan, i64 %to
  %slot = getelementptr i64, ptr %plan, i64 %from
  store ptr %address, ptr %slot
  %q_1 = add i64 %q, 1
  br label %point_next
run:
  %rest = getelementptr ptr, ptr %arguments, i64 %values
  %left = sub i64 %given, %values
  %result = call ptr @call_plan(ptr %plan, ptr %rest, i64 %left)
  ret ptr %result
}

define internal ptr @call_plan(ptr %plan, ptr %arguments, i64 %given) alwaysinline {
entry:
  %expected_field = getelementptr %plan, ptr %plan, i32 0, i32 5
  %expected = load i64, ptr %expected_field
  %fits = icmp eq i64 %given, %expected
  br i1 %fits, label %prepare, label %count_wrong
count_wrong:
  call void @refuse(ptr @PyExc_TypeError, ptr @wrong_count)
  ret ptr null

prepare:
  %inputs_field = getelementptr %plan, ptr %plan, i32 0, i32 3
  %inputs = load i64, ptr %inputs_field
  %outputs_field = getelementptr %plan, ptr %plan, i32 0, i32 4
  %outputs = load i64, ptr %outputs_field
  %operands = add i64 %inputs, %outputs
  %slots = add i64 %operands, 2
  %frame_words = mul i64 %slots, 2
  %frame = alloca i64, i64 %frame_words, align 16
  %results = alloca ptr, i64 %outputs, align 8
  store ptr %plan, ptr %frame
  %input_list_field = getelementptr %plan, ptr %plan, i32 0, i32 6
  %input_list = load ptr, ptr %input_list_field
  %output_list_field = getelementptr %plan, ptr %plan, i32 0, i32 7
  %output_list = load ptr, ptr %output_list_field
  br label %take

take:
  %i = phi i64 [ 0, %prepare ], [ %i_1, %taken ]
  %more_inputs = icmp slt i64 %i, %inputs
  br i1 %more_inputs, label %take_one, label %make
take_one:
  %argument_place = getelementptr ptr, ptr %arguments, i64 %i
  %argument = load ptr, ptr %argument_place
  %input = getelementptr %input, ptr %input_list, i64 %i
  %kind = load i64, ptr %input
  %i_1 = add i64 %i, 1
  %slot_word = mul i64 %i_1, 2
  %slot = getelementptr i64, ptr %frame, i64 %slot_word
  %is_array = icmp eq i64 %kind, ARRAY
  br i1 %is_array, label %array, label %number
array:
  %array_taken = call i1 @take_array(ptr %argument, ptr %slot)
  br i1 %array_taken, label %taken, label %no_input
number:
  %number_taken = call i1 @take_number(ptr %argument, ptr %input, i64 %kind, ptr %slot)
  br i1 %number_taken, label %taken, label %no_input
taken:
  br label %take
no_input:
  ret ptr null

make:
  %o = phi i64 [ 0, %take ], [ %o_1, %made ]
  %next = phi i64 [ %inputs, %take ], [ %next_1, %made ]
  %more_outputs = icmp slt i64 %o, %outputs
  br i1 %more_outputs, label %make_one, label %compute
make_one:
  %output = getelementptr %output, ptr %output_list, i64 %o
  %output_kind = load i64, ptr %output
  %o_1 = add i64 %o, 1
  %result_place = getelementptr ptr, ptr %results, i64 %o
  %operand = add i64 %inputs, %o_1
  %output_word = mul i64 %operand, 2
  %output_slot = getelementptr i64, ptr %frame, i64 %output_word
  %is_given = icmp eq i64 %output_kind, GIVEN
  br i1 %is_given, label %given_one, label %new_one
given_one:
  %target_place = getelementptr ptr, ptr %arguments, i64 %next
  %target = load ptr, ptr %target_place
  call void @Py_IncRef(ptr %target)
  br label %made_one
new_one:
  %new = call ptr @new_array(ptr %output, i64 %output_kind)
  %no_memory = icmp eq ptr %new, null
  br i1 %no_memory, label %undo, label %made_one
made_one:
  %result = phi ptr [ %target, %given_one ], [ %new, %new_one ]
  %used = phi i64 [ 1, %given_one ], [ 0, %new_one ]
  %next_1 = add i64 %next, %used
  store ptr %result, ptr %result_place
  %result_taken = call i1 @take_array(ptr %result, ptr %output_slot)
  br i1 %result_taken, label %made, label %undo_this
made:
  br label %make
undo_this:
  call void @drop_results(ptr %results, i64 %o_1)
  ret ptr null
undo:
  call void @drop_results(ptr %results, i64 %o)
  ret ptr null

compute:
  %has_run = call i1 @run(ptr %plan, ptr %frame)
  br i1 %has_run, label %finish, label %undo_all
undo_all:
  call void @drop_results(ptr %results, i64 %outputs)
  ret ptr null
finish:
  %value = call ptr @hand_out(ptr %results, i64 %outputs)
  ret ptr %value
}

; Several kernels one after another, none of which makes an array: the arrays that they read and write -> the first one.
; The plan: number of arrays, number of steps, the steps, words of the longest frame. A step: its plan, words of its
; frame, the frame but for addresses, number of these, and of each its place in the frame, which array, and how many
; bytes from its first element.
define ptr @sequence_call(ptr %self, ptr %arguments, i64 %given) {
entry:
  %plan_field = getelementptr i8, ptr %self, i64 DATA_OFFSET
  %sequence = load ptr, ptr %plan_field
  %expected = load i64, ptr %sequence
  %steps_field = getelementptr i64, ptr %sequence, i64 1
  %steps = load i64, ptr %steps_field
  %list_field = getelementptr i64, ptr %sequence, i64 2
  %list = load ptr, ptr %list_field
  %longest_field = getelementptr i64, ptr %sequence, i64 3
  %longest = load i64, ptr %longest_field
  %fits = icmp eq i64 %given, %expected
  br i1 %fits, label %prepare, label %count_wrong
count_wrong:
  call void @refuse(ptr @PyExc_TypeError, ptr @wrong_count)
  ret ptr null
prepare:
  %addresses = alloca ptr, i64 %given, align 16
  %frame = alloca i64, i64 %longest, align 16
  br label %take
take:
  %i = phi i64 [ 0, %prepare ], [ %i_1, %taken ]
  %more = icmp slt i64 %i, %given
  br i1 %more, label %take_one, label %next
take_one:
  %i_1 = add i64 %i, 1
  %argument_place = getelementptr ptr, ptr %arguments, i64 %i
  %argument = load ptr, ptr %argument_place
  %address_place = getelementptr ptr, ptr %addresses, i64 %i
  %is_array = call i1 @take_array(ptr %argument, ptr %address_place)
  br i1 %is_array, label %taken, label %bad
taken:
  br label %take
bad:
  ret ptr null
next:
  %s = phi i64 [ 0, %take ], [ %s_1, %has_run ]
  %more_steps = icmp slt i64 %s, %steps
  br i1 %more_steps, label %step, label %end
step:
  %s_1 = add i64 %s, 1
  %step_word = mul i64 %s, 5
  %step_field = getelementptr i64, ptr %list, i64 %step_word
  %plan = load ptr, ptr %step_field
  %words_field = getelementptr i64, ptr %step_field, i64 1
  %words = load i64, ptr %words_field
  %template_field = getelementptr i64, ptr %step_field, i64 2
  %template = load ptr, ptr %template_field
  %patches_field = getelementptr i64, ptr %step_field, i64 3
  %patches = load i64, ptr %patches_field
  %patch_list_field = getelementptr i64, ptr %step_field, i64 4
  %patch_list = load ptr, ptr %patch_list_field
  %bytes = mul i64 %words, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %frame, ptr %template, i64 %bytes, i1 false)
  br label %patch_next
patch_next:
  %p = phi i64 [ 0, %step ], [ %p_1, %patch ]
  %more_patches = icmp slt i64 %p, %patches
  br i1 %more_patches, label %patch, label %run
patch:
  %p_1 = add i64 %p, 1
  %patch_word = mul i64 %p, 3
  %where_field = getelementptr i64, ptr %patch_list, i64 %patch_word
  %where = load i64, ptr %where_field
  %which_field = getelementptr i64, ptr %where_field, i64 1
  %which = load i64, ptr %which_field
  %offset_field = getelementptr i64, ptr %where_field, i64 2
  %offset = load i64, ptr %offset_field
  %first_place = getelementptr ptr, ptr %addresses, i64 %which
  %first = load ptr, ptr %first_place
  %address = getelementptr i8, ptr %first, i64 %offset
  %target = getelementptr i64, ptr %frame, i64 %where
  store ptr %address, ptr %target
  br label %patch_next
run:
  %ran = call i1 @run_frame(ptr %plan, ptr %frame)
  br i1 %ran, label %has_run, label %bad
has_run:
  br label %next
end:
  %result = load ptr, ptr %arguments
  call void @Py_IncRef(ptr %result)
  ret ptr %result
}
