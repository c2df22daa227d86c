! The calls under their short names, with the lines in which they stand: for preprocessed sources.
! PHX_FILE stands among the declarations of each module. Lines get longer by some 20 characters; a call stands in one line.
#define PHX_FILE character(len=*),parameter,private::phx_file=__FILE__//c_null_char
#define PHX_HERE phx_file,__LINE__
