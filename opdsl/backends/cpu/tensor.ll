; Plans that take tensors and give a tensor, each one METH_FASTCALL function: what a plan in Python would do around its
; kernel, without a frame of Python. opdsl.backends.cpu.tensors writes their data and says where the slots of Tensor lie.

%tensor = type {
  ptr,    ;  0 Tensor, the class
  ptr,    ;  1 the geometry of the result
  ptr,    ;  2 its version: Python's 0
  i64,    ;  3 where the slot `array` lies in a Tensor
  i64,    ;  4 `geometry`
  i64,    ;  5 `_writes`
  i64     ;  6 `_base`
}
%kernel_plan = type {
  i64,    ;  0 number of arguments
  i64,    ;  1 number of what the kernel takes
  ptr,    ;  2 of each, where it comes from
  ptr,    ;  3 the kernel: arrays and numbers -> an array
  ptr,    ;  4 what takes the arguments when a number does not fit, or when they are not what they were planned for
  i64,    ;  5 whether an OverflowError of the kernel says that a number does not fit
  ptr     ;  6 the result
}
%source = type {
  i64,    ;  kind: ARRAY_OF (a tensor argument), ARGUMENT or OBJECT
  i64     ;  the argument's place, or the object
}
%view_plan = type {
  ptr,    ;  0 the dtype
  i64,    ;  1 dimensions
  ptr,    ;  2 shape
  ptr,    ;  3 strides in bytes
  i64,    ;  4 bytes from the tensor's first element to the view's
  i64,    ;  5 whether the tensor is a view, whose base becomes that of the result
  ptr     ;  6 the result
}

@wrong_tensor = internal constant [42 x i8] c"kernel: an operand is not a Tensor on CPU\00"

declare ptr @PyType_GenericAlloc(ptr, i64)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare i32 @PyErr_ExceptionMatches(ptr)
declare void @PyErr_Clear()
declare i32 @PyArray_SetBaseObject(ptr, ptr)

; The array of a tensor, borrowed; null without an exception for anything that is no plain Tensor with an array.
define internal ptr @array_of(ptr %object, ptr %tensor) alwaysinline {
  %type_field = getelementptr i8, ptr %object, i64 TYPE_OFFSET
  %type = load ptr, ptr %type_field
  %wanted = load ptr, ptr %tensor
  %exact = icmp eq ptr %type, %wanted
  br i1 %exact, label %good, label %bad
good:
  %offset_field = getelementptr %tensor, ptr %tensor, i32 0, i32 3
  %offset = load i64, ptr %offset_field
  %slot = getelementptr i8, ptr %object, i64 %offset
  %array = load ptr, ptr %slot
  ret ptr %array
bad:
  ret ptr null
}

define internal void @set_slot(ptr %object, ptr %tensor, i32 %field, ptr %value) alwaysinline {
  %offset_field = getelementptr i64, ptr %tensor, i32 %field
  %offset = load i64, ptr %offset_field
  %slot = getelementptr i8, ptr %object, i64 %offset
  store ptr %value, ptr %slot
  ret void
}

; A Tensor over an array, whose reference it takes over; null with an exception where there is no memory.
define internal ptr @new_tensor(ptr %tensor, ptr %array, ptr %base) alwaysinline {
  %type = load ptr, ptr %tensor
  %made = call ptr @PyType_GenericAlloc(ptr %type, i64 0)
  %missing = icmp eq ptr %made, null
  br i1 %missing, label %drop, label %fill
drop:
  call void @Py_DecRef(ptr %array)
  ret ptr null
fill:
  %geometry_field = getelementptr %tensor, ptr %tensor, i32 0, i32 1
  %geometry = load ptr, ptr %geometry_field
  %version_field = getelementptr %tensor, ptr %tensor, i32 0, i32 2
  %version = load ptr, ptr %version_field
  call void @Py_IncRef(ptr %geometry)
  call void @Py_IncRef(ptr %version)
  call void @Py_IncRef(ptr %base)
  call void @set_slot(ptr %made, ptr %tensor, i32 3, ptr %array)
  call void @set_slot(ptr %made, ptr %tensor, i32 4, ptr %geometry)
  call void @set_slot(ptr %made, ptr %tensor, i32 5, ptr %version)
  call void @set_slot(ptr %made, ptr %tensor, i32 6, ptr %base)
  ret ptr %made
}

; What the kernel takes, borrowed, into a frame; false where an argument is not what it was planned for.
define internal i1 @take_values(ptr %plan, ptr %tensor, ptr %arguments, ptr %frame, i64 %count) alwaysinline {
entry:
  %sources_field = getelementptr %kernel_plan, ptr %plan, i32 0, i32 2
  %sources = load ptr, ptr %sources_field
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i_1, %store ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %one, label %good
one:
  %source = getelementptr %source, ptr %sources, i64 %i
  %kind = load i64, ptr %source
  %word_field = getelementptr %source, ptr %source, i32 0, i32 1
  %word = load i64, ptr %word_field
  %object = inttoptr i64 %word to ptr
  %is_object = icmp eq i64 %kind, OBJECT
  br i1 %is_object, label %store, label %argument
argument:
  %place = getelementptr ptr, ptr %arguments, i64 %word
  %given = load ptr, ptr %place
  %is_plain = icmp eq i64 %kind, ARGUMENT
  br i1 %is_plain, label %store, label %array
array:
  %taken = call ptr @array_of(ptr %given, ptr %tensor)
  %missing = icmp eq ptr %taken, null
  br i1 %missing, label %bad, label %store
store:
  %value = phi ptr [ %object, %one ], [ %given, %argument ], [ %taken, %array ]
  %slot = getelementptr ptr, ptr %frame, i64 %i
  store ptr %value, ptr %slot
  %i_1 = add i64 %i, 1
  br label %loop
good:
  ret i1 true
bad:
  ret i1 false
}

; A thread that changes a tensor meanwhile must not take its array away: the frame owns what it holds during the call.
define internal void @hold(ptr %frame, i64 %count) alwaysinline {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i_1, %one ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %one, label %end
one:
  %slot = getelementptr ptr, ptr %frame, i64 %i
  %value = load ptr, ptr %slot
  call void @Py_IncRef(ptr %value)
  %i_1 = add i64 %i, 1
  br label %loop
end:
  ret void
}

define internal void @let_go(ptr %frame, i64 %count) alwaysinline {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i_1, %one ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %one, label %end
one:
  %slot = getelementptr ptr, ptr %frame, i64 %i
  %value = load ptr, ptr %slot
  call void @Py_DecRef(ptr %value)
  %i_1 = add i64 %i, 1
  br label %loop
end:
  ret void
}

define ptr @tensor_call(ptr %self, ptr %arguments, i64 %given) {
entry:
  %plan_field = getelementptr i8, ptr %self, i64 DATA_OFFSET
  %plan = load ptr, ptr %plan_field
  %expected = load i64, ptr %plan
  %fits = icmp eq i64 %given, %expected
  br i1 %fits, label %take, label %count_wrong
count_wrong:
  call void @refuse(ptr @PyExc_TypeError, ptr @wrong_count)
  ret ptr null
take:
  %count_field = getelementptr %kernel_plan, ptr %plan, i32 0, i32 1
  %count = load i64, ptr %count_field
  %tensor_field = getelementptr %kernel_plan, ptr %plan, i32 0, i32 6
  %tensor = load ptr, ptr %tensor_field
  %frame = alloca ptr, i64 %count, align 8
  %taken = call i1 @take_values(ptr %plan, ptr %tensor, ptr %arguments, ptr %frame, i64 %count)
  br i1 %taken, label %compute, label %slow
compute:
  call void @hold(ptr %frame, i64 %count)
  %kernel_field = getelementptr %kernel_plan, ptr %plan, i32 0, i32 3
  %kernel = load ptr, ptr %kernel_field
  %array = call ptr @PyObject_Vectorcall(ptr %kernel, ptr %frame, i64 %count, ptr null)
  call void @let_go(ptr %frame, i64 %count)
  %failed = icmp eq ptr %array, null
  br i1 %failed, label %ask, label %made
made:
  %result = call ptr @new_tensor(ptr %tensor, ptr %array, ptr @_Py_NoneStruct)
  ret ptr %result
ask:
  %converts_field = getelementptr %kernel_plan, ptr %plan, i32 0, i32 5
  %converts = load i64, ptr %converts_field
  %can_retry = icmp ne i64 %converts, 0
  br i1 %can_retry, label %which, label %raise
which:
  %overflow = load ptr, ptr @PyExc_OverflowError
  %matches = call i32 @PyErr_ExceptionMatches(ptr %overflow)
  %is_overflow = icmp ne i32 %matches, 0
  br i1 %is_overflow, label %retry, label %raise
retry:
  call void @PyErr_Clear()
  br label %slow
slow:
  %slow_field = getelementptr %kernel_plan, ptr %plan, i32 0, i32 4
  %slow_call = load ptr, ptr %slow_field
  %answer = call ptr @PyObject_Vectorcall(ptr %slow_call, ptr %arguments, i64 %given, ptr null)
  ret ptr %answer
raise:
  ret ptr null
}

define ptr @view_call(ptr %self, ptr %arguments, i64 %given) {
entry:
  %plan_field = getelementptr i8, ptr %self, i64 DATA_OFFSET
  %plan = load ptr, ptr %plan_field
  %fits = icmp eq i64 %given, 1
  br i1 %fits, label %take, label %count_wrong
count_wrong:
  call void @refuse(ptr @PyExc_TypeError, ptr @wrong_count)
  ret ptr null
take:
  %tensor_field = getelementptr %view_plan, ptr %plan, i32 0, i32 6
  %tensor = load ptr, ptr %tensor_field
  %source = load ptr, ptr %arguments
  %array = call ptr @array_of(ptr %source, ptr %tensor)
  %none = icmp eq ptr %array, null
  br i1 %none, label %wrong, label %make
wrong:
  call void @refuse(ptr @PyExc_TypeError, ptr @wrong_tensor)
  ret ptr null
make:
  %data_field = getelementptr i8, ptr %array, i64 DATA_OFFSET
  %data = load ptr, ptr %data_field
  %offset_field = getelementptr %view_plan, ptr %plan, i32 0, i32 4
  %offset = load i64, ptr %offset_field
  %first = getelementptr i8, ptr %data, i64 %offset
  %flags_field = getelementptr i8, ptr %array, i64 FLAGS_OFFSET
  %flags = load i32, ptr %flags_field
  %writeable = and i32 %flags, ARRAY_WRITEABLE
  %dimensions_field = getelementptr %view_plan, ptr %plan, i32 0, i32 1
  %dimensions = load i64, ptr %dimensions_field
  %dimensions_32 = trunc i64 %dimensions to i32
  %shape_field = getelementptr %view_plan, ptr %plan, i32 0, i32 2
  %shape = load ptr, ptr %shape_field
  %strides_field = getelementptr %view_plan, ptr %plan, i32 0, i32 3
  %strides = load ptr, ptr %strides_field
  %dtype = load ptr, ptr %plan
  call void @Py_IncRef(ptr %array)                  ; NumPy takes both references, also when it fails
  call void @Py_IncRef(ptr %dtype)
  %made = call ptr @PyArray_NewFromDescr(ptr @PyArray_Type, ptr %dtype, i32 %dimensions_32, ptr %shape, ptr %strides,
                                         ptr %first, i32 %writeable, ptr null)
  %missing = icmp eq ptr %made, null
  br i1 %missing, label %drop_array, label %hold
drop_array:
  call void @Py_DecRef(ptr %array)
  ret ptr null
hold:
  %status = call i32 @PyArray_SetBaseObject(ptr %made, ptr %array)
  %refused = icmp slt i32 %status, 0
  br i1 %refused, label %drop, label %find_base
drop:
  call void @Py_DecRef(ptr %made)
  ret ptr null
find_base:
  %of_view_field = getelementptr %view_plan, ptr %plan, i32 0, i32 5
  %of_view = load i64, ptr %of_view_field
  %is_owner = icmp eq i64 %of_view, 0
  br i1 %is_owner, label %wrap, label %look
look:
  %base_field = getelementptr %tensor, ptr %tensor, i32 0, i32 6
  %base_offset = load i64, ptr %base_field
  %base_slot = getelementptr i8, ptr %source, i64 %base_offset
  %root = load ptr, ptr %base_slot
  br label %wrap
wrap:
  %base = phi ptr [ %source, %find_base ], [ %root, %look ]
  %result = call ptr @new_tensor(ptr %tensor, ptr %made, ptr %base)
  ret ptr %result
}

; A view of an array: the array, the bytes from its first element, the sizes, the strides in bytes -> an array.
define ptr @array_view(ptr %self, ptr %arguments, i64 %given) {
entry:
  %plan_field = getelementptr i8, ptr %self, i64 DATA_OFFSET
  %plan = load ptr, ptr %plan_field
  %dimensions_field = getelementptr i64, ptr %plan, i64 1
  %dimensions = load i64, ptr %dimensions_field
  %numbers = sub i64 %given, 1
  %twice = mul i64 %dimensions, 2
  %expected = add i64 %twice, 2
  %fits = icmp eq i64 %given, %expected
  br i1 %fits, label %prepare, label %count_wrong
count_wrong:
  call void @refuse(ptr @PyExc_TypeError, ptr @wrong_count)
  ret ptr null
prepare:
  %words = alloca i64, i64 %numbers, align 16
  br label %take
take:
  %i = phi i64 [ 0, %prepare ], [ %i_1, %taken ]
  %more = icmp slt i64 %i, %numbers
  br i1 %more, label %take_one, label %source
take_one:
  %i_1 = add i64 %i, 1
  %argument_place = getelementptr ptr, ptr %arguments, i64 %i_1
  %argument = load ptr, ptr %argument_place
  %number = call i64 @PyLong_AsLongLong(ptr %argument)
  %number_place = getelementptr i64, ptr %words, i64 %i
  store i64 %number, ptr %number_place
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
source:
  %array = load ptr, ptr %arguments
  %frame = alloca ptr, align 8
  %is_array = call i1 @take_array(ptr %array, ptr %frame)
  br i1 %is_array, label %make, label %bad
make:
  %data = load ptr, ptr %frame
  %offset = load i64, ptr %words
  %first = getelementptr i8, ptr %data, i64 %offset
  %shape = getelementptr i64, ptr %words, i64 1
  %strides = getelementptr i64, ptr %shape, i64 %dimensions
  %flags_field = getelementptr i8, ptr %array, i64 FLAGS_OFFSET
  %flags = load i32, ptr %flags_field
  %writeable = and i32 %flags, ARRAY_WRITEABLE
  %dimensions_32 = trunc i64 %dimensions to i32
  %dtype = load ptr, ptr %plan
  call void @Py_IncRef(ptr %array)                  ; NumPy takes both references, also when it fails
  call void @Py_IncRef(ptr %dtype)
  %made = call ptr @PyArray_NewFromDescr(ptr @PyArray_Type, ptr %dtype, i32 %dimensions_32, ptr %shape, ptr %strides,
                                         ptr %first, i32 %writeable, ptr null)
  %missing = icmp eq ptr %made, null
  br i1 %missing, label %drop_array, label %hold
drop_array:
  call void @Py_DecRef(ptr %array)
  ret ptr null
hold:
  %status = call i32 @PyArray_SetBaseObject(ptr %made, ptr %array)
  %refused = icmp slt i32 %status, 0
  br i1 %refused, label %drop, label %end
drop:
  call void @Py_DecRef(ptr %made)
  ret ptr null
end:
  ret ptr %made
}

; A new array without gaps: its sizes -> the array. A function in Python makes those of NEW_UP_TO bytes and more, and says
; what is wrong with sizes. The plan: dtype, number of dimensions, bytes of an element, that function.
define ptr @array_new(ptr %self, ptr %arguments, i64 %given) {
entry:
  %plan_field = getelementptr i8, ptr %self, i64 DATA_OFFSET
  %plan = load ptr, ptr %plan_field
  %dimensions_field = getelementptr i64, ptr %plan, i64 1
  %dimensions = load i64, ptr %dimensions_field
  %bytes_field = getelementptr i64, ptr %plan, i64 2
  %bytes = load i64, ptr %bytes_field
  %slow_field = getelementptr ptr, ptr %plan, i64 3
  %slow = load ptr, ptr %slow_field
  %shape = alloca i64, i64 %given, align 16
  %fits = icmp eq i64 %given, %dimensions
  br i1 %fits, label %take, label %ask
take:
  %i = phi i64 [ 0, %entry ], [ %i_1, %taken ]
  %size = phi i64 [ %bytes, %entry ], [ %size_1, %taken ]
  %more = icmp slt i64 %i, %given
  br i1 %more, label %take_one, label %make
take_one:
  %i_1 = add i64 %i, 1
  %argument_place = getelementptr ptr, ptr %arguments, i64 %i
  %argument = load ptr, ptr %argument_place
  %number = call i64 @PyLong_AsLongLong(ptr %argument)
  %number_place = getelementptr i64, ptr %shape, i64 %i
  store i64 %number, ptr %number_place
  %size_1 = mul i64 %size, %number
  %strange = icmp uge i64 %number, NEW_UP_TO        ; negative ones, too
  %large = icmp uge i64 %size_1, NEW_UP_TO
  %leaves = or i1 %strange, %large
  br i1 %leaves, label %ask, label %taken
taken:
  br label %take
ask:
  call void @PyErr_Clear()                          ; of an integer beyond 64 bits
  %asked = call ptr @PyObject_Vectorcall(ptr %slow, ptr %arguments, i64 %given, ptr null)
  ret ptr %asked
make:
  %dimensions_32 = trunc i64 %dimensions to i32
  %dtype = load ptr, ptr %plan
  call void @Py_IncRef(ptr %dtype)                  ; NumPy takes a reference, also when it fails
  %made = call ptr @PyArray_NewFromDescr(ptr @PyArray_Type, ptr %dtype, i32 %dimensions_32, ptr %shape, ptr null,
                                         ptr null, i32 0, ptr null)
  ret ptr %made
}

; The address of an array's first element as an integer, 0 where it has none.
define ptr @array_address(ptr %self, ptr %arguments, i64 %given) {
entry:
  %frame = alloca ptr, align 8
  %fits = icmp eq i64 %given, 1
  br i1 %fits, label %take, label %count_wrong
count_wrong:
  call void @refuse(ptr @PyExc_TypeError, ptr @wrong_count)
  ret ptr null
take:
  %array = load ptr, ptr %arguments
  %is_array = call i1 @take_array(ptr %array, ptr %frame)
  br i1 %is_array, label %look, label %bad
bad:
  ret ptr null
look:
  %dimensions_field = getelementptr i8, ptr %array, i64 DIMENSIONS_OFFSET
  %dimensions = load i32, ptr %dimensions_field
  %count = sext i32 %dimensions to i64
  %shape_field = getelementptr i8, ptr %array, i64 SHAPE_OFFSET
  %shape = load ptr, ptr %shape_field
  br label %loop
loop:
  %i = phi i64 [ 0, %look ], [ %i_1, %one ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %one, label %some
one:
  %size_place = getelementptr i64, ptr %shape, i64 %i
  %size = load i64, ptr %size_place
  %i_1 = add i64 %i, 1
  %none = icmp eq i64 %size, 0
  br i1 %none, label %empty, label %loop
empty:
  %zero = call ptr @PyLong_FromVoidPtr(ptr null)
  ret ptr %zero
some:
  %data = load ptr, ptr %frame
  %number = call ptr @PyLong_FromVoidPtr(ptr %data)
  ret ptr %number
}
