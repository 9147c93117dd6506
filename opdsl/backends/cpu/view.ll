; The entry of view plans: a METH_FASTCALL function from an ndarray to another one over the same memory. It trusts that
; the memory is as large as that of the array that the plan was made for.

%view_plan = type {
  ptr,    ;  0 the dtype
  i64,    ;  1 dimensions
  ptr,    ;  2 shape
  ptr,    ;  3 strides in bytes
  i64     ;  4 bytes from the array's first element to the view's
}

declare i32 @PyArray_SetBaseObject(ptr, ptr)

define ptr @view_call(ptr %self, ptr %arguments, i64 %given) {
entry:
  %plan_field = getelementptr i8, ptr %self, i64 DATA_OFFSET
  %plan = load ptr, ptr %plan_field
  %slot = alloca ptr, align 8
  %fits = icmp eq i64 %given, 1
  br i1 %fits, label %take, label %count_wrong
count_wrong:
  call void @refuse(ptr @PyExc_TypeError, ptr @wrong_count)
  ret ptr null
take:
  %array = load ptr, ptr %arguments
  %taken = call i1 @take_array(ptr %array, ptr %slot)
  br i1 %taken, label %make, label %failed
make:
  %data = load ptr, ptr %slot
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
  call void @Py_IncRef(ptr %dtype)                  ; NumPy takes a reference, also when it fails
  %made = call ptr @PyArray_NewFromDescr(ptr @PyArray_Type, ptr %dtype, i32 %dimensions_32, ptr %shape, ptr %strides,
                                         ptr %first, i32 %writeable, ptr null)
  %missing = icmp eq ptr %made, null
  br i1 %missing, label %failed, label %hold
hold:
  call void @Py_IncRef(ptr %array)                  ; so it does here
  %status = call i32 @PyArray_SetBaseObject(ptr %made, ptr %array)
  %refused = icmp slt i32 %status, 0
  br i1 %refused, label %drop, label %good
drop:
  call void @Py_DecRef(ptr %made)
  ret ptr null
good:
  ret ptr %made
failed:
  ret ptr null
}
