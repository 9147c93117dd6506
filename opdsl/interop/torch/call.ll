; A kernel as torch calls it: one METH_FASTCALL | METH_KEYWORDS function of torch tensors and Python values.
;
; It looks for a plan that was made for tensors of the same dtypes, sizes and strides and for the same values, makes the
; results in torch, and runs the plan's loop on the memory of the tensors. Where there is none, or a tensor is more than
; memory, a Python function takes the call. opdsl.interop.torch.plans writes the data and says where things lie; torch's
; tensors are asked through its stable C interface (torch/csrc/inductor/aoti_torch/c/shim.h).

%call = type {
  ptr,    ;  0 the plans: their number, then the address of each; null for none
  ptr,    ;  1 the Python function
  i64,    ;  2 what is tested: NOTHING, MEMORY (that tensors are no more than memory), or RECORDED (autograd besides)
  ptr,    ;  3 torch.Tensor
  ptr,    ;  4 torch.nn.Parameter
  i64,    ;  5 the key set of a tensor that is no more than memory
  i64,    ;  6 the same of one made in inference mode
  ptr,    ;  7 tells how many dispatch modes are on
  ptr,    ;  8 Python's 0
  ptr,    ;  9 counts writes of the tensors in a tuple
  ptr     ; 10 for torch_array: the dtype of NumPy for each of torch, by number, and its size; null for none
}
%plan = type {
  ptr,    ;  0 the object that owns the plan
  i64,    ;  1 number of arguments
  ptr,    ;  2 what they have to be
  ptr,    ;  3 the plan of the loop (call.ll of opdsl.backends.cpu)
  i64,    ;  4 number of operands that are no results
  ptr,    ;  5 where they come from
  i64,    ;  6 number of results
  ptr,    ;  7 what they are
  i64     ;  8 the default dtype that it was made under; -1 where that does not matter
}
%argument = type {
  ptr,    ;  0 a value; null for a tensor
  i64,    ;  1 dtype
  i64,    ;  2 dimensions
  ptr,    ;  3 sizes
  ptr,    ;  4 strides
  i64,    ;  5 how many elements lie between the first and the end of the last
  i64     ;  6 the size of an element
}
%operand = type {
  i64,    ;  0 the place of a tensor among the arguments; -1 for a number
  i64,    ;  1 the number, as the loop's frame holds it
  i64,    ;  2 its second half
  i64,    ;  3 how many bytes the tensor reaches over
  i64     ;  4 whether it may be the memory of a result
}
%result = type {
  i64,    ;  0 the place of the tensor that it is among the arguments; -1 for a new one
  i64,    ;  1 dtype
  i64,    ;  2 dimensions
  ptr,    ;  3 sizes
  ptr,    ;  4 strides
  i64     ;  5 how many bytes it reaches over
}
; What is asked of an argument before plans are looked at.
%asked = type { ptr, i64, i64, ptr, ptr }    ; handle (null for no tensor), dtype, dimensions, sizes, strides

@PyFloat_Type = external global i8
@PyArray_Type = external global i8
@_Py_NoneStruct = external global i8

declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyObject_CallNoArgs(ptr)
declare i32 @PyObject_RichCompareBool(ptr, ptr, i32)
declare double @PyFloat_AsDouble(ptr)
declare void @PyErr_Clear()
declare ptr @PyTuple_New(i64)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)
declare i8 @default_dtype()
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyArray_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare i32 @PyArray_SetBaseObject(ptr, ptr)
declare i32 @memcmp(ptr, ptr, i64)
declare i1 @run_frame(ptr, ptr)
declare i32 @aoti_torch_get_dtype(ptr, ptr)
declare i32 @aoti_torch_get_dim(ptr, ptr)
declare i32 @aoti_torch_get_sizes(ptr, ptr)
declare i32 @aoti_torch_get_strides(ptr, ptr)
declare i32 @aoti_torch_get_data_ptr(ptr, ptr)
declare i32 @aoti_torch_get_storage_offset(ptr, ptr)
declare i32 @aoti_torch_get_storage_size(ptr, ptr)
declare i32 @aoti_torch_empty_strided(i64, ptr, ptr, i32, i32, i32, ptr)
declare i32 @aoti_torch_delete_tensor_object(ptr)
declare ptr @THPVariable_Wrap(ptr)

; Ask a tensor for its geometry; false where it is more than memory.
define internal i1 @ask(ptr %call, ptr %object, ptr %asked) alwaysinline {
entry:
  %handle = getelementptr i8, ptr %object, i64 CDATA_OFFSET
  %tests_field = getelementptr %call, ptr %call, i32 0, i32 2
  %tests = load i64, ptr %tests_field
  %no_tests = icmp eq i64 %tests, NOTHING
  br i1 %no_tests, label %plain, label %look
look:
  %inner = load ptr, ptr %handle
  %keys_field = getelementptr i8, ptr %inner, i64 KEYS_OFFSET
  %keys = load i64, ptr %keys_field
  %usual_field = getelementptr %call, ptr %call, i32 0, i32 5
  %usual = load i64, ptr %usual_field
  %inference_field = getelementptr %call, ptr %call, i32 0, i32 6
  %inference = load i64, ptr %inference_field
  %is_usual = icmp eq i64 %keys, %usual
  %is_inference = icmp eq i64 %keys, %inference
  %is_memory = or i1 %is_usual, %is_inference
  br i1 %is_memory, label %look_again, label %no
look_again:
  %autograd_field = getelementptr i8, ptr %inner, i64 AUTOGRAD_OFFSET
  %autograd = load ptr, ptr %autograd_field
  %has_autograd = icmp ne ptr %autograd, null
  %wants = icmp eq i64 %tests, RECORDED
  %records = and i1 %has_autograd, %wants
  br i1 %records, label %no, label %plain
plain:
  %dtype_slot = getelementptr %asked, ptr %asked, i32 0, i32 1
  store i64 0, ptr %dtype_slot
  %e1 = call i32 @aoti_torch_get_dtype(ptr %handle, ptr %dtype_slot)
  %dim_slot = getelementptr %asked, ptr %asked, i32 0, i32 2
  %e2 = call i32 @aoti_torch_get_dim(ptr %handle, ptr %dim_slot)
  %sizes_slot = getelementptr %asked, ptr %asked, i32 0, i32 3
  %e3 = call i32 @aoti_torch_get_sizes(ptr %handle, ptr %sizes_slot)
  %strides_slot = getelementptr %asked, ptr %asked, i32 0, i32 4
  %e4 = call i32 @aoti_torch_get_strides(ptr %handle, ptr %strides_slot)
  store ptr %handle, ptr %asked
  %e12 = or i32 %e1, %e2
  %e34 = or i32 %e3, %e4
  %e = or i32 %e12, %e34
  %fine = icmp eq i32 %e, 0
  ret i1 %fine
no:
  ret i1 false
}

; Whether a value is the one that a plan was made for. Of floating-point numbers the bits decide: 0.0 is not -0.0.
define internal i1 @is_same(ptr %value, ptr %wanted) noinline {
entry:
  %identical = icmp eq ptr %value, %wanted
  br i1 %identical, label %yes, label %types
types:
  %type_field = getelementptr i8, ptr %value, i64 TYPE_OFFSET
  %type = load ptr, ptr %type_field
  %wanted_type_field = getelementptr i8, ptr %wanted, i64 TYPE_OFFSET
  %wanted_type = load ptr, ptr %wanted_type_field
  %alike = icmp eq ptr %type, %wanted_type
  br i1 %alike, label %kind, label %no
kind:
  %is_float = icmp eq ptr %type, @PyFloat_Type
  br i1 %is_float, label %float, label %compare
float:
  %number = call double @PyFloat_AsDouble(ptr %value)
  %wanted_number = call double @PyFloat_AsDouble(ptr %wanted)
  %bits = bitcast double %number to i64
  %wanted_bits = bitcast double %wanted_number to i64
  %equal_bits = icmp eq i64 %bits, %wanted_bits
  ret i1 %equal_bits
compare:
  %verdict = call i32 @PyObject_RichCompareBool(ptr %value, ptr %wanted, i32 2)
  %failed = icmp slt i32 %verdict, 0
  br i1 %failed, label %clear, label %answer
clear:
  call void @PyErr_Clear()
  ret i1 false
answer:
  %equal = icmp eq i32 %verdict, 1
  ret i1 %equal
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether a tensor lies within its storage, which torch lets anybody shrink.
define internal i1 @is_held(ptr %handle, ptr %argument) alwaysinline {
  %offset_slot = alloca i64
  %size_slot = alloca i64
  %e1 = call i32 @aoti_torch_get_storage_offset(ptr %handle, ptr %offset_slot)
  %e2 = call i32 @aoti_torch_get_storage_size(ptr %handle, ptr %size_slot)
  %e = or i32 %e1, %e2
  %fine = icmp eq i32 %e, 0
  %offset = load i64, ptr %offset_slot
  %bytes = load i64, ptr %size_slot
  %reach_field = getelementptr %argument, ptr %argument, i32 0, i32 5
  %reach = load i64, ptr %reach_field
  %item_field = getelementptr %argument, ptr %argument, i32 0, i32 6
  %item = load i64, ptr %item_field
  %elements = add i64 %offset, %reach
  %needed = mul i64 %elements, %item
  %within = icmp sle i64 %needed, %bytes
  %held = and i1 %fine, %within
  ret i1 %held
}

; Whether an argument is what a plan was made for.
define internal i1 @fits(ptr %object, ptr %asked, ptr %argument) alwaysinline {
entry:
  %value = load ptr, ptr %argument
  %is_value = icmp ne ptr %value, null
  %handle = load ptr, ptr %asked
  %no_tensor = icmp eq ptr %handle, null
  br i1 %is_value, label %value_wanted, label %tensor_wanted
value_wanted:
  br i1 %no_tensor, label %compare, label %no
compare:
  %same = call i1 @is_same(ptr %object, ptr %value)
  ret i1 %same
tensor_wanted:
  br i1 %no_tensor, label %no, label %form
form:
  %dtype_slot = getelementptr %asked, ptr %asked, i32 0, i32 1
  %dtype = load i64, ptr %dtype_slot
  %dim_slot = getelementptr %asked, ptr %asked, i32 0, i32 2
  %dim = load i64, ptr %dim_slot
  %wanted_dtype_field = getelementptr %argument, ptr %argument, i32 0, i32 1
  %wanted_dtype = load i64, ptr %wanted_dtype_field
  %wanted_dim_field = getelementptr %argument, ptr %argument, i32 0, i32 2
  %wanted_dim = load i64, ptr %wanted_dim_field
  %dtype_fits = icmp eq i64 %dtype, %wanted_dtype
  %dim_fits = icmp eq i64 %dim, %wanted_dim
  %kind_fits = and i1 %dtype_fits, %dim_fits
  br i1 %kind_fits, label %steps, label %no
steps:
  %sizes_slot = getelementptr %asked, ptr %asked, i32 0, i32 3
  %sizes = load ptr, ptr %sizes_slot
  %strides_slot = getelementptr %asked, ptr %asked, i32 0, i32 4
  %strides = load ptr, ptr %strides_slot
  %wanted_sizes_field = getelementptr %argument, ptr %argument, i32 0, i32 3
  %wanted_sizes = load ptr, ptr %wanted_sizes_field
  %wanted_strides_field = getelementptr %argument, ptr %argument, i32 0, i32 4
  %wanted_strides = load ptr, ptr %wanted_strides_field
  %some = icmp sgt i64 %dim, 0
  br i1 %some, label %each, label %memory
each:
  %i = phi i64 [ 0, %steps ], [ %i_1, %next ]
  %size_place = getelementptr i64, ptr %sizes, i64 %i
  %size = load i64, ptr %size_place
  %stride_place = getelementptr i64, ptr %strides, i64 %i
  %stride = load i64, ptr %stride_place
  %wanted_size_place = getelementptr i64, ptr %wanted_sizes, i64 %i
  %wanted_size = load i64, ptr %wanted_size_place
  %wanted_stride_place = getelementptr i64, ptr %wanted_strides, i64 %i
  %wanted_stride = load i64, ptr %wanted_stride_place
  %size_fits = icmp eq i64 %size, %wanted_size
  %stride_fits = icmp eq i64 %stride, %wanted_stride
  %both = and i1 %size_fits, %stride_fits
  br i1 %both, label %next, label %no
next:
  %i_1 = add i64 %i, 1
  %more = icmp slt i64 %i_1, %dim
  br i1 %more, label %each, label %memory
memory:
  %held = call i1 @is_held(ptr %handle, ptr %argument)
  ret i1 %held
no:
  ret i1 false
}

; Whether no dispatch mode is on.
define internal i1 @no_modes(ptr %call) alwaysinline {
entry:
  %tests_field = getelementptr %call, ptr %call, i32 0, i32 2
  %tests = load i64, ptr %tests_field
  %no_tests = icmp eq i64 %tests, NOTHING
  br i1 %no_tests, label %yes, label %ask
ask:
  %count_field = getelementptr %call, ptr %call, i32 0, i32 7
  %count = load ptr, ptr %count_field
  %answer = call ptr @PyObject_CallNoArgs(ptr %count)
  %failed = icmp eq ptr %answer, null
  br i1 %failed, label %clear, label %look
clear:
  call void @PyErr_Clear()
  ret i1 false
look:
  %zero_field = getelementptr %call, ptr %call, i32 0, i32 8
  %zero = load ptr, ptr %zero_field
  %none = icmp eq ptr %answer, %zero
  call void @Py_DecRef(ptr %answer)
  ret i1 %none
yes:
  ret i1 true
}

; A new tensor in torch; null where torch refuses.
define internal ptr @new_result(ptr %result) alwaysinline {
  %made = alloca ptr
  %dtype_field = getelementptr %result, ptr %result, i32 0, i32 1
  %dtype = load i64, ptr %dtype_field
  %dtype_32 = trunc i64 %dtype to i32
  %dim_field = getelementptr %result, ptr %result, i32 0, i32 2
  %dim = load i64, ptr %dim_field
  %sizes_field = getelementptr %result, ptr %result, i32 0, i32 3
  %sizes = load ptr, ptr %sizes_field
  %strides_field = getelementptr %result, ptr %result, i32 0, i32 4
  %strides = load ptr, ptr %strides_field
  %error = call i32 @aoti_torch_empty_strided(i64 %dim, ptr %sizes, ptr %strides, i32 %dtype_32, i32 0, i32 -1, ptr %made)
  %fine = icmp eq i32 %error, 0
  %handle = load ptr, ptr %made
  %answer = select i1 %fine, ptr %handle, ptr null
  ret ptr %answer
}

define internal void @delete_results(ptr %handles, i64 %count) noinline cold {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i_1, %next ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %one, label %end
one:
  %place = getelementptr ptr, ptr %handles, i64 %i
  %handle = load ptr, ptr %place
  %given = icmp eq ptr %handle, null
  br i1 %given, label %next, label %delete
delete:
  %ignored = call i32 @aoti_torch_delete_tensor_object(ptr %handle)
  br label %next
next:
  %i_1 = add i64 %i, 1
  br label %loop
end:
  ret void
}

; A result as Python has it: the given tensor, or a new one, whose handle is given up.
define internal ptr @hand_over(ptr %handle, ptr %result, ptr %arguments) alwaysinline {
  %given = icmp eq ptr %handle, null
  br i1 %given, label %argument, label %new
argument:
  %place = load i64, ptr %result
  %field = getelementptr ptr, ptr %arguments, i64 %place
  %object = load ptr, ptr %field
  call void @Py_IncRef(ptr %object)
  ret ptr %object
new:
  %wrapped = call ptr @THPVariable_Wrap(ptr %handle)
  %ignored = call i32 @aoti_torch_delete_tensor_object(ptr %handle)
  ret ptr %wrapped
}

; Whether a result that is given shares no memory with an operand, or may.
define internal i1 @stands_apart(ptr %frame, ptr %operands, i64 %count, ptr %result, ptr %address) noinline {
entry:
  %place = load i64, ptr %result
  %reach_field = getelementptr %result, ptr %result, i32 0, i32 5
  %reach = load i64, ptr %reach_field
  %begin = ptrtoint ptr %address to i64
  %end = add i64 %begin, %reach
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i_1, %next ]
  %i_1 = add i64 %i, 1
  %more = icmp slt i64 %i, %count
  br i1 %more, label %one, label %yes
one:
  %operand = getelementptr %operand, ptr %operands, i64 %i
  %source = load i64, ptr %operand
  %is_number = icmp slt i64 %source, 0
  %is_itself = icmp eq i64 %source, %place
  %no_matter = or i1 %is_number, %is_itself
  br i1 %no_matter, label %next, label %compare
compare:
  %word = mul i64 %i_1, 2
  %slot = getelementptr i64, ptr %frame, i64 %word
  %other_begin = load i64, ptr %slot
  %other_reach_field = getelementptr %operand, ptr %operand, i32 0, i32 3
  %other_reach = load i64, ptr %other_reach_field
  %other_end = add i64 %other_begin, %other_reach
  %before = icmp ule i64 %other_end, %begin
  %behind = icmp uge i64 %other_begin, %end
  %apart = or i1 %before, %behind
  %may_field = getelementptr %operand, ptr %operand, i32 0, i32 4
  %may_word = load i64, ptr %may_field
  %may = icmp ne i64 %may_word, 0
  %same = icmp eq i64 %other_begin, %begin
  %coincides = and i1 %may, %same
  %fine = or i1 %apart, %coincides
  br i1 %fine, label %next, label %no
next:
  br label %loop
yes:
  ret i1 true
no:
  ret i1 false
}

; Tell torch of a write; tensors of inference mode have no versions.
define internal void @count_write(ptr %call, ptr %handle, ptr %object) noinline {
entry:
  %inner = load ptr, ptr %handle
  %keys_field = getelementptr i8, ptr %inner, i64 KEYS_OFFSET
  %keys = load i64, ptr %keys_field
  %inference_field = getelementptr %call, ptr %call, i32 0, i32 6
  %inference = load i64, ptr %inference_field
  %none = icmp eq i64 %keys, %inference
  br i1 %none, label %end, label %pack
pack:
  %tuple = call ptr @PyTuple_New(i64 1)
  %missing = icmp eq ptr %tuple, null
  br i1 %missing, label %clear, label %count
count:
  call void @Py_IncRef(ptr %object)
  %set = call i32 @PyTuple_SetItem(ptr %tuple, i64 0, ptr %object)
  %counter_field = getelementptr %call, ptr %call, i32 0, i32 9
  %counter = load ptr, ptr %counter_field
  %answer = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %counter, ptr %tuple, ptr null)
  call void @Py_DecRef(ptr %tuple)
  %failed = icmp eq ptr %answer, null
  br i1 %failed, label %clear, label %drop
drop:
  call void @Py_DecRef(ptr %answer)
  br label %end
clear:
  call void @PyErr_Clear()
  br label %end
end:
  ret void
}

; Run a plan; null without an exception where torch gives no memory.
define internal ptr @run_plan(ptr %call, ptr %plan, ptr %asked_list, ptr %arguments) noinline {
entry:
  %owner = load ptr, ptr %plan
  call void @Py_IncRef(ptr %owner)
  %loop_field = getelementptr %plan, ptr %plan, i32 0, i32 3
  %loop = load ptr, ptr %loop_field
  %operands_field = getelementptr %plan, ptr %plan, i32 0, i32 4
  %operands = load i64, ptr %operands_field
  %operand_list_field = getelementptr %plan, ptr %plan, i32 0, i32 5
  %operand_list = load ptr, ptr %operand_list_field
  %results_field = getelementptr %plan, ptr %plan, i32 0, i32 6
  %results = load i64, ptr %results_field
  %result_list_field = getelementptr %plan, ptr %plan, i32 0, i32 7
  %result_list = load ptr, ptr %result_list_field
  %all = add i64 %operands, %results
  %slots = add i64 %all, 2
  %words = mul i64 %slots, 2
  %frame = alloca i64, i64 %words, align 16
  %handles = alloca ptr, i64 %results, align 8
  store ptr %loop, ptr %frame
  br label %take
take:
  %i = phi i64 [ 0, %entry ], [ %i_1, %took ]
  %i_1 = add i64 %i, 1
  %more_operands = icmp slt i64 %i, %operands
  br i1 %more_operands, label %take_one, label %make
take_one:
  %word = mul i64 %i_1, 2
  %slot = getelementptr i64, ptr %frame, i64 %word
  %operand = getelementptr %operand, ptr %operand_list, i64 %i
  %place = load i64, ptr %operand
  %is_number = icmp slt i64 %place, 0
  br i1 %is_number, label %number, label %memory
number:
  %first_field = getelementptr %operand, ptr %operand, i32 0, i32 1
  %first = load i64, ptr %first_field
  store i64 %first, ptr %slot
  %second_field = getelementptr %operand, ptr %operand, i32 0, i32 2
  %second = load i64, ptr %second_field
  %second_slot = getelementptr i64, ptr %slot, i64 1
  store i64 %second, ptr %second_slot
  br label %took
memory:
  %asked = getelementptr %asked, ptr %asked_list, i64 %place
  %handle = load ptr, ptr %asked
  %e1 = call i32 @aoti_torch_get_data_ptr(ptr %handle, ptr %slot)
  br label %took
took:
  br label %take
make:
  %o = phi i64 [ 0, %take ], [ %o_1, %made ]
  %more_results = icmp slt i64 %o, %results
  br i1 %more_results, label %make_one, label %compute
make_one:
  %o_1 = add i64 %o, 1
  %at = add i64 %operands, %o_1
  %result_word = mul i64 %at, 2
  %result_slot = getelementptr i64, ptr %frame, i64 %result_word
  %handle_place = getelementptr ptr, ptr %handles, i64 %o
  %result = getelementptr %result, ptr %result_list, i64 %o
  %given = load i64, ptr %result
  %is_new = icmp slt i64 %given, 0
  br i1 %is_new, label %new, label %old
new:
  %new_handle = call ptr @new_result(ptr %result)
  %no_memory = icmp eq ptr %new_handle, null
  br i1 %no_memory, label %undo, label %address
undo:
  call void @delete_results(ptr %handles, i64 %o)
  call void @Py_DecRef(ptr %owner)
  ret ptr null
old:
  %given_asked = getelementptr %asked, ptr %asked_list, i64 %given
  %given_handle = load ptr, ptr %given_asked
  br label %address
address:
  %source = phi ptr [ %new_handle, %new ], [ %given_handle, %old ]
  %kept = phi ptr [ %new_handle, %new ], [ null, %old ]
  store ptr %kept, ptr %handle_place
  %e2 = call i32 @aoti_torch_get_data_ptr(ptr %source, ptr %result_slot)
  br i1 %is_new, label %made, label %test
test:
  %result_address = load ptr, ptr %result_slot
  %apart = call i1 @stands_apart(ptr %frame, ptr %operand_list, i64 %operands, ptr %result, ptr %result_address)
  br i1 %apart, label %made, label %undo
made:
  br label %make
compute:
  %has_run = call i1 @run_frame(ptr %loop, ptr %frame)
  call void @Py_DecRef(ptr %owner)
  br i1 %has_run, label %finish, label %failed
failed:
  call void @PyErr_Clear()
  call void @delete_results(ptr %handles, i64 %results)
  ret ptr null
finish:
  br label %bump
bump:
  %b = phi i64 [ 0, %finish ], [ %b_1, %bumped ]
  %b_1 = add i64 %b, 1
  %more_bumps = icmp slt i64 %b, %results
  br i1 %more_bumps, label %bump_one, label %hand_out
bump_one:
  %b_result = getelementptr %result, ptr %result_list, i64 %b
  %b_place = load i64, ptr %b_result
  %b_new = icmp slt i64 %b_place, 0
  br i1 %b_new, label %bumped, label %count_it
count_it:
  %b_asked = getelementptr %asked, ptr %asked_list, i64 %b_place
  %b_handle = load ptr, ptr %b_asked
  %b_field = getelementptr ptr, ptr %arguments, i64 %b_place
  %b_object = load ptr, ptr %b_field
  call void @count_write(ptr %call, ptr %b_handle, ptr %b_object)
  br label %bumped
bumped:
  br label %bump
hand_out:
  %single = icmp eq i64 %results, 1
  br i1 %single, label %one, label %several
one:
  %only_handle = load ptr, ptr %handles
  %only = call ptr @hand_over(ptr %only_handle, ptr %result_list, ptr %arguments)
  ret ptr %only
several:
  %tuple = call ptr @PyTuple_New(i64 %results)
  %no_tuple = icmp eq ptr %tuple, null
  br i1 %no_tuple, label %failed, label %fill
fill:
  %r = phi i64 [ 0, %several ], [ %r_1, %filled ]
  %more = icmp slt i64 %r, %results
  br i1 %more, label %filled, label %end
filled:
  %r_handle_place = getelementptr ptr, ptr %handles, i64 %r
  %r_handle = load ptr, ptr %r_handle_place
  %r_result = getelementptr %result, ptr %result_list, i64 %r
  %object = call ptr @hand_over(ptr %r_handle, ptr %r_result, ptr %arguments)
  %set = call i32 @PyTuple_SetItem(ptr %tuple, i64 %r, ptr %object)
  %r_1 = add i64 %r, 1
  br label %fill
end:
  ret ptr %tuple
}

; Whether arguments are given by name; torch gives an empty tuple of names where there are none.
define internal i1 @has_names(ptr %names) alwaysinline {
  %absent = icmp eq ptr %names, null
  br i1 %absent, label %no, label %look
look:
  %number = call i64 @PyTuple_Size(ptr %names)
  %some = icmp ne i64 %number, 0
  ret i1 %some
no:
  ret i1 false
}

define ptr @torch_call(ptr %self, ptr %arguments, i64 %count, ptr %names) {
entry:
  %call_field = getelementptr i8, ptr %self, i64 DATA_OFFSET
  %call = load ptr, ptr %call_field
  %plans = load ptr, ptr %call
  %no_plans = icmp eq ptr %plans, null
  %has_names = call i1 @has_names(ptr %names)
  %many = icmp ugt i64 %count, 64
  %odd = or i1 %no_plans, %has_names
  %away = or i1 %odd, %many
  br i1 %away, label %slow, label %prepare
prepare:
  %asked_list = alloca %asked, i64 %count, align 8
  %tensor_field = getelementptr %call, ptr %call, i32 0, i32 3
  %tensor_type = load ptr, ptr %tensor_field
  %parameter_field = getelementptr %call, ptr %call, i32 0, i32 4
  %parameter_type = load ptr, ptr %parameter_field
  br label %look
look:
  %i = phi i64 [ 0, %prepare ], [ %i_1, %looked ]
  %i_1 = add i64 %i, 1
  %more = icmp slt i64 %i, %count
  br i1 %more, label %look_one, label %modes
look_one:
  %place = getelementptr ptr, ptr %arguments, i64 %i
  %object = load ptr, ptr %place
  %asked = getelementptr %asked, ptr %asked_list, i64 %i
  %type_field = getelementptr i8, ptr %object, i64 TYPE_OFFSET
  %type = load ptr, ptr %type_field
  %is_plain = icmp eq ptr %type, %tensor_type
  %is_parameter = icmp eq ptr %type, %parameter_type
  %is_tensor = or i1 %is_plain, %is_parameter
  br i1 %is_tensor, label %tensor, label %value
value:
  store ptr null, ptr %asked
  br label %looked
tensor:
  %fine = call i1 @ask(ptr %call, ptr %object, ptr %asked)
  br i1 %fine, label %looked, label %slow
looked:
  br label %look
modes:
  %free = call i1 @no_modes(ptr %call)
  br i1 %free, label %search, label %slow
search:
  %number = load i64, ptr %plans
  br label %try
try:
  %p = phi i64 [ 0, %search ], [ %p_1, %no_fit ]
  %p_1 = add i64 %p, 1
  %more_plans = icmp slt i64 %p, %number
  br i1 %more_plans, label %try_one, label %slow
try_one:
  %plan_place = getelementptr ptr, ptr %plans, i64 %p_1
  %plan = load ptr, ptr %plan_place
  %wanted_count_field = getelementptr %plan, ptr %plan, i32 0, i32 1
  %wanted_count = load i64, ptr %wanted_count_field
  %argument_list_field = getelementptr %plan, ptr %plan, i32 0, i32 2
  %argument_list = load ptr, ptr %argument_list_field
  %same_count = icmp eq i64 %count, %wanted_count
  br i1 %same_count, label %default, label %no_fit
default:
  %default_field = getelementptr %plan, ptr %plan, i32 0, i32 8
  %wanted_default = load i64, ptr %default_field
  %no_matter = icmp slt i64 %wanted_default, 0
  br i1 %no_matter, label %begin, label %look_default
look_default:
  %default_now = call i8 @default_dtype()
  %default_word = sext i8 %default_now to i64
  %same_default = icmp eq i64 %default_word, %wanted_default
  br i1 %same_default, label %begin, label %no_fit
begin:
  br label %compare
compare:
  %a = phi i64 [ 0, %begin ], [ %a_1, %compared ]
  %more_arguments = icmp slt i64 %a, %count
  br i1 %more_arguments, label %compare_one, label %hit
compare_one:
  %a_place = getelementptr ptr, ptr %arguments, i64 %a
  %a_object = load ptr, ptr %a_place
  %a_asked = getelementptr %asked, ptr %asked_list, i64 %a
  %a_argument = getelementptr %argument, ptr %argument_list, i64 %a
  %a_fits = call i1 @fits(ptr %a_object, ptr %a_asked, ptr %a_argument)
  %a_1 = add i64 %a, 1
  br i1 %a_fits, label %compared, label %no_fit
compared:
  br label %compare
no_fit:
  br label %try
hit:
  %made = call ptr @run_plan(ptr %call, ptr %plan, ptr %asked_list, ptr %arguments)
  %done = icmp ne ptr %made, null
  br i1 %done, label %good, label %slow
good:
  ret ptr %made
slow:
  %function_field = getelementptr %call, ptr %call, i32 0, i32 1
  %function = load ptr, ptr %function_field
  %answer = call ptr @PyObject_Vectorcall(ptr %function, ptr %arguments, i64 %count, ptr %names)
  ret ptr %answer
}

; ---------------------------------------------------------------------------------------- what plans of forms read

; Ask an argument for its geometry; false where it is no tensor, or more than memory.
define internal i1 @ask_argument(ptr %call, ptr %object, ptr %asked) alwaysinline {
entry:
  %tensor_field = getelementptr %call, ptr %call, i32 0, i32 3
  %tensor_type = load ptr, ptr %tensor_field
  %parameter_field = getelementptr %call, ptr %call, i32 0, i32 4
  %parameter_type = load ptr, ptr %parameter_field
  %type_field = getelementptr i8, ptr %object, i64 TYPE_OFFSET
  %type = load ptr, ptr %type_field
  %is_plain = icmp eq ptr %type, %tensor_type
  %is_parameter = icmp eq ptr %type, %parameter_type
  %is_tensor = or i1 %is_plain, %is_parameter
  br i1 %is_tensor, label %tensor, label %no
tensor:
  %fine = call i1 @ask(ptr %call, ptr %object, ptr %asked)
  ret i1 %fine
no:
  ret i1 false
}

define internal ptr @none() alwaysinline {
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
}

; The form of a tensor that is contiguous and has two or more of everything, as a number; None for any other.
define ptr @torch_form(ptr %self, ptr %arguments, i64 %count) {
entry:
  %call_field = getelementptr i8, ptr %self, i64 DATA_OFFSET
  %call = load ptr, ptr %call_field
  %asked = alloca %asked, align 8
  %object = load ptr, ptr %arguments
  %fine = call i1 @ask_argument(ptr %call, ptr %object, ptr %asked)
  br i1 %fine, label %walk, label %other
walk:
  %dtype_slot = getelementptr %asked, ptr %asked, i32 0, i32 1
  %dtype = load i64, ptr %dtype_slot
  %dim_slot = getelementptr %asked, ptr %asked, i32 0, i32 2
  %dim = load i64, ptr %dim_slot
  %sizes_slot = getelementptr %asked, ptr %asked, i32 0, i32 3
  %sizes = load ptr, ptr %sizes_slot
  %strides_slot = getelementptr %asked, ptr %asked, i32 0, i32 4
  %strides = load ptr, ptr %strides_slot
  br label %loop
loop:
  %i = phi i64 [ %dim, %walk ], [ %i_1, %one ]
  %step = phi i64 [ 1, %walk ], [ %step_1, %one ]
  %i_1 = sub i64 %i, 1
  %more = icmp sgt i64 %i, 0
  br i1 %more, label %one, label %contiguous
one:
  %size_place = getelementptr i64, ptr %sizes, i64 %i_1
  %size = load i64, ptr %size_place
  %stride_place = getelementptr i64, ptr %strides, i64 %i_1
  %stride = load i64, ptr %stride_place
  %step_1 = mul i64 %step, %size
  %is_wide = icmp sge i64 %size, 2
  %is_dense = icmp eq i64 %stride, %step
  %fits = and i1 %is_wide, %is_dense
  br i1 %fits, label %loop, label %other
contiguous:
  %high = mul i64 %dtype, 1024
  %code = add i64 %high, %dim
  %number = call ptr @PyLong_FromLongLong(i64 %code)
  ret ptr %number
other:
  %answer = call ptr @none()
  ret ptr %answer
}

; An array over the memory of a tensor; None where it is more than memory, or has none.
define ptr @torch_array(ptr %self, ptr %arguments, i64 %count) {
entry:
  %call_field = getelementptr i8, ptr %self, i64 DATA_OFFSET
  %call = load ptr, ptr %call_field
  %asked = alloca %asked, align 8
  %wanted = alloca %argument, align 8
  %steps = alloca [64 x i64], align 8
  %data_slot = alloca ptr, align 8
  %object = load ptr, ptr %arguments
  %fine = call i1 @ask_argument(ptr %call, ptr %object, ptr %asked)
  br i1 %fine, label %look, label %other
look:
  %dtype_slot = getelementptr %asked, ptr %asked, i32 0, i32 1
  %dtype = load i64, ptr %dtype_slot
  %dim_slot = getelementptr %asked, ptr %asked, i32 0, i32 2
  %dim = load i64, ptr %dim_slot
  %known = icmp ult i64 %dtype, DTYPES
  %few = icmp ule i64 %dim, 64
  %possible = and i1 %known, %few
  br i1 %possible, label %find, label %other
find:
  %table_field = getelementptr %call, ptr %call, i32 0, i32 10
  %table = load ptr, ptr %table_field
  %word = mul i64 %dtype, 2
  %array_dtype_place = getelementptr i64, ptr %table, i64 %word
  %array_dtype = load ptr, ptr %array_dtype_place
  %item_place = getelementptr i64, ptr %array_dtype_place, i64 1
  %item = load i64, ptr %item_place
  %unknown = icmp eq ptr %array_dtype, null
  br i1 %unknown, label %other, label %walk
walk:
  %handle = load ptr, ptr %asked
  %sizes_slot = getelementptr %asked, ptr %asked, i32 0, i32 3
  %sizes = load ptr, ptr %sizes_slot
  %strides_slot = getelementptr %asked, ptr %asked, i32 0, i32 4
  %strides = load ptr, ptr %strides_slot
  br label %loop
loop:
  %i = phi i64 [ 0, %walk ], [ %i_1, %one ]
  %reach = phi i64 [ 1, %walk ], [ %reach_1, %one ]
  %i_1 = add i64 %i, 1
  %more = icmp slt i64 %i, %dim
  br i1 %more, label %one, label %memory
one:
  %size_place = getelementptr i64, ptr %sizes, i64 %i
  %size = load i64, ptr %size_place
  %stride_place = getelementptr i64, ptr %strides, i64 %i
  %stride = load i64, ptr %stride_place
  %step = mul i64 %stride, %item
  %step_place = getelementptr i64, ptr %steps, i64 %i
  store i64 %step, ptr %step_place
  %last = sub i64 %size, 1
  %further = mul i64 %last, %stride
  %reach_1 = add i64 %reach, %further
  %has_some = icmp sgt i64 %size, 0
  br i1 %has_some, label %loop, label %other
memory:
  %reach_field = getelementptr %argument, ptr %wanted, i32 0, i32 5
  store i64 %reach, ptr %reach_field
  %item_field = getelementptr %argument, ptr %wanted, i32 0, i32 6
  store i64 %item, ptr %item_field
  %held = call i1 @is_held(ptr %handle, ptr %wanted)
  br i1 %held, label %address, label %other
address:
  %error = call i32 @aoti_torch_get_data_ptr(ptr %handle, ptr %data_slot)
  %data = load ptr, ptr %data_slot
  %got = icmp eq i32 %error, 0
  %present = icmp ne ptr %data, null
  %both = and i1 %got, %present
  br i1 %both, label %make, label %other
make:
  %dim_32 = trunc i64 %dim to i32
  call void @Py_IncRef(ptr %object)                 ; NumPy takes both references, also when it fails
  call void @Py_IncRef(ptr %array_dtype)
  %made = call ptr @PyArray_NewFromDescr(ptr @PyArray_Type, ptr %array_dtype, i32 %dim_32, ptr %sizes, ptr %steps,
                                         ptr %data, i32 ARRAY_WRITEABLE, ptr null)
  %missing = icmp eq ptr %made, null
  br i1 %missing, label %drop_tensor, label %hold
drop_tensor:
  call void @Py_DecRef(ptr %object)
  ret ptr null
hold:
  %status = call i32 @PyArray_SetBaseObject(ptr %made, ptr %object)
  %refused = icmp slt i32 %status, 0
  br i1 %refused, label %drop, label %end
drop:
  call void @Py_DecRef(ptr %made)
  ret ptr null
end:
  ret ptr %made
other:
  %answer = call ptr @none()
  ret ptr %answer
}
