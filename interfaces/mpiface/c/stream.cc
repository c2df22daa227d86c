/* Linked into each C++ program: its own std::cout, cerr, clog and cin. Those of the C++ library
 * would be one for all ranks: the width and the precision of one rank would be another's, and the
 * parts of two ranks' lines would mix. They write by the copy's own stdout (priv.c). */
#include <cstdio>
#include <ext/stdio_sync_filebuf.h>
#include <istream>
#include <new>
#include <ostream>

/* Hidden: the C++ library, which the first copy brings in, would else take that copy's for its
 * own. */
#define OWN(type, name, symbol) \
  __attribute__((weak, visibility("hidden"))) \
  alignas(std::type) char name[sizeof(std::type)] __asm__(symbol);

OWN(ostream, own_cout, "_ZSt4cout")
OWN(ostream, own_cerr, "_ZSt4cerr")
OWN(ostream, own_clog, "_ZSt4clog")
OWN(istream, own_cin, "_ZSt3cin")

namespace {
typedef __gnu_cxx::stdio_sync_filebuf<char> buffer;
alignas(buffer) char rooms[3][sizeof(buffer)];

/* After priv.c's, before the program's constructors; never destroyed, as the library's. */
__attribute__((constructor(102))) void make() {
  std::streambuf *out = new (rooms[0]) buffer(stdout);
  std::streambuf *err = new (rooms[1]) buffer(stderr);
  std::streambuf *in = new (rooms[2]) buffer(stdin);
  std::ostream *cout = new (own_cout) std::ostream(out);
  std::ostream *cerr = new (own_cerr) std::ostream(err);
  new (own_clog) std::ostream(err);
  cerr->setf(std::ios_base::unitbuf);
  cerr->tie(cout);
  std::istream *cin = new (own_cin) std::istream(in);
  cin->tie(cout);
}
} // namespace
