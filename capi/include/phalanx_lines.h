! The calls under their short names, with the lines in which they stand: for preprocessed sources.
! PHX_FILE stands among the declarations of each module. Lines get longer by some 20 characters.
#define PHX_FILE character(len=*),parameter,private::phx_file=__FILE__//c_null_char
#define PHX_HERE phx_file,__LINE__
#define phx_barrier(c) phx_barrier_at(c,PHX_HERE)
#define phx_broadcast(c,b,n,t,r) phx_broadcast_at(c,b,n,t,r,PHX_HERE)
#define phx_reduce(c,b,n,t,o,r) phx_reduce_at(c,b,n,t,o,r,PHX_HERE)
#define phx_all_reduce(c,b,n,t,o) phx_all_reduce_at(c,b,n,t,o,PHX_HERE)
#define phx_all_gather(c,m,n,a,t) phx_all_gather_at(c,m,n,a,t,PHX_HERE)
#define phx_send(c,b,n,t,r) phx_send_at(c,b,n,t,r,PHX_HERE)
#define phx_recv(c,b,n,t,r) phx_recv_at(c,b,n,t,r,PHX_HERE)
#define phx_exchange(c,s,ns,to,r,nr,from,t) phx_exchange_at(c,s,ns,to,r,nr,from,t,PHX_HERE)
#define phx_fixed_dot(c,x,y,n,f,d) phx_fixed_dot_at(c,x,y,n,f,d,PHX_HERE)
#define phx_split(c,color,key,p) phx_split_at(c,color,key,p,PHX_HERE)
#define phx_cart(c,nd,e,p,k) phx_cart_at(c,nd,e,p,k,PHX_HERE)
#define phx_exchange_halo(k,f,t,e,w,o) phx_exchange_halo_at(k,f,t,e,w,o,PHX_HERE)
