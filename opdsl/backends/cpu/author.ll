; The entry of author kernels: a METH_FASTCALL function that takes its arguments into a frame, 16 bytes each, and calls
; what numba compiled. An array's slot holds the address of the ndarray object itself, whose shape and strides the
; compiled code reads.

%author_plan = type {
  ptr,    ;  0 i32 (result, error, frame), numba's calling convention; anything but 0 is an error
  i64,    ;  1 number of arguments
  ptr,    ;  2 inputs, as in call.ll
  ptr     ;  3 Python function of the address of an error's description; it raises
}

@_Py_NoneStruct = external global i8
declare ptr @PyLong_FromVoidPtr(ptr)
declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)

; The elements of an ndarray.
define internal i64 @elements_of(ptr %array) noinline {
entry:
  %count_field = getelementptr i8, ptr %array, i64 DIMENSIONS_OFFSET
  %count_32 = load i32, ptr %count_field
  %count = sext i32 %count_32 to i64
  %shape_field = getelementptr i8, ptr %array, i64 SHAPE_OFFSET
  %shape = load ptr, ptr %shape_field
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i_1, %step ]
  %product = phi i64 [ 1, %entry ], [ %product_1, %step ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %step, label %end
step:
  %place = getelementptr i64, ptr %shape, i64 %i
  %size = load i64, ptr %place
  %product_1 = mul i64 %product, %size
  %i_1 = add i64 %i, 1
  br label %loop
end:
  ret i64 %product
}

define ptr @author_call(ptr %self, ptr %arguments, i64 %given) {
entry:
  %plan_field = getelementptr i8, ptr %self, i64 DATA_OFFSET
  %plan = load ptr, ptr %plan_field
  %expected_field = getelementptr %author_plan, ptr %plan, i32 0, i32 1
  %expected = load i64, ptr %expected_field
  %fits = icmp eq i64 %given, %expected
  br i1 %fits, label %prepare, label %count_wrong
count_wrong:
  call void @refuse(ptr @PyExc_TypeError, ptr @wrong_count)
  ret ptr null

prepare:
  %inputs_field = getelementptr %author_plan, ptr %plan, i32 0, i32 2
  %inputs = load ptr, ptr %inputs_field
  %words = mul i64 %given, 2
  %frame = alloca i64, i64 %words, align 16
  %result = alloca [2 x i64], align 16
  %error = alloca ptr, align 8
  store ptr null, ptr %error
  br label %take
take:
  %i = phi i64 [ 0, %prepare ], [ %i_1, %taken ]
  %total = phi i64 [ 0, %prepare ], [ %total_1, %taken ]
  %more = icmp slt i64 %i, %given
  br i1 %more, label %take_one, label %compute
take_one:
  %argument_place = getelementptr ptr, ptr %arguments, i64 %i
  %argument = load ptr, ptr %argument_place
  %input = getelementptr %input, ptr %inputs, i64 %i
  %kind = load i64, ptr %input
  %slot_word = mul i64 %i, 2
  %slot = getelementptr i64, ptr %frame, i64 %slot_word
  %i_1 = add i64 %i, 1
  switch i64 %kind, label %number [ i64 ARRAY, label %array
                                    i64 NOTHING, label %taken ]
array:
  %array_taken = call i1 @take_array(ptr %argument, ptr %slot)
  br i1 %array_taken, label %measure, label %wrong
measure:
  store ptr %argument, ptr %slot
  %elements = call i64 @elements_of(ptr %argument)
  %with_array = add i64 %total, %elements
  br label %taken
number:
  %number_taken = call i1 @take_number(ptr %argument, ptr %input, i64 %kind, ptr %slot)
  br i1 %number_taken, label %taken, label %wrong
taken:
  %total_1 = phi i64 [ %total, %take_one ], [ %with_array, %measure ], [ %total, %number ]
  br label %take
wrong:
  ret ptr null

compute:
  %kernel = load ptr, ptr %plan
  %large = icmp sge i64 %total, AUTHOR_LEAVES_GIL_FROM
  br i1 %large, label %away, label %here
here:
  %status_here = call i32 %kernel(ptr %result, ptr %error, ptr %frame)
  br label %judge
away:
  %state = call ptr @PyEval_SaveThread()
  %status_away = call i32 %kernel(ptr %result, ptr %error, ptr %frame)
  call void @PyEval_RestoreThread(ptr %state)
  br label %judge
judge:
  %status = phi i32 [ %status_here, %here ], [ %status_away, %away ]
  %good = icmp eq i32 %status, 0
  br i1 %good, label %none, label %failed
none:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
failed:
  %description = load ptr, ptr %error
  %address = call ptr @PyLong_FromVoidPtr(ptr %description)
  %no_address = icmp eq ptr %address, null
  br i1 %no_address, label %wrong, label %report
report:
  %reporter_field = getelementptr %author_plan, ptr %plan, i32 0, i32 3
  %reporter = load ptr, ptr %reporter_field
  %raised = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %reporter, ptr %address, ptr null)
  call void @Py_DecRef(ptr %address)
  ret ptr %raised
}
