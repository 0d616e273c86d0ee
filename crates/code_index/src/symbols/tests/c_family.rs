//! C and C++.

use super::{outline, whole};
use crate::Language;

#[cfg(feature = "c")]
#[test]
fn c() {
    let text = r#"#include <stdio.h>
#define OBJECT 1
#define FUNCTION(a, b) \
	((a) + (b))
#ifdef X
typedef struct { int a; } Anon;
#else
typedef struct named { int b; struct { int c; } in; } Named, *NamedPtr;
#endif
enum color { RED, GREEN = 2 };
union u { int i; };
struct forward;
extern int declared;
static const int constant = 1;
int a, *b, c[3], (*fp)(void);
int prototype(int x);
static int __init decorated(void)
{
	struct inside { int z; } local;
	return 0;
}
phys_addr_t __weak twice(void)
{
	return very_long_body_that_is_cut(1);
}
int knr(a, b)
	int a;
	char *b;
{
	return 1;
}
SYSCALL_DEFINE3(read, unsigned int, fd, char __user *, buf, size_t, count)
{
	return ksys_read(fd, buf, count);
}
static DEFINE_MUTEX(lock);
static u64 timeout __read_mostly;
static int __read_mostly flag = 1;
void (*signal(int sig, void (*func)(int)))(int)
{
	return 0;
}
static __attribute__((noinline)) void attributed(void) {
	if (1) {
		return;
	}
}
#ifdef A
int half(int x)
{
#else
int half(void)
{
#endif
	return 1;
}
int after_half(void) { return 1; }
"#;
    insta::assert_snapshot!(outline(Language::C, text), @r"
    2 macro OBJECT -
    3 macro FUNCTION -
    6 field a Anon
    6 type Anon -
    8 struct named -
    8 field b named
    8 field c named.in
    8 field in named
    8 type Named -
    8 type NamedPtr -
    10 enum color -
    10 variant RED color
    10 variant GREEN color
    11 union u -
    11 field i u
    13 declaration declared -
    14 constant constant -
    15 variable a -
    15 variable b -
    15 variable c -
    15 variable fp -
    16 declaration prototype -
    17 function decorated -
    19 struct inside decorated
    19 field z decorated.inside
    19 local local decorated
    22 function twice -
    26 function knr -
    27 local a knr
    28 local b knr
    32 function read -
    36 variable lock -
    37 variable timeout -
    38 variable flag -
    39 function signal -
    43 function attributed -
    52 function half -
    57 function after_half -
    ");
    assert!(whole(Language::C, text, "twice").ends_with("that_is_cut(1);\n}"));
}

#[cfg(feature = "cpp")]
#[test]
fn cpp() {
    let text = r#"namespace outer::inner {
template <typename T>
class EXPORT_API Box : public Base<T> {
 public:
  Box() : value_(0) {}
  ~Box();
  T get() const noexcept { return value_; }
  bool operator==(const Box& other) const;
  operator bool() const { return true; }
  enum class Kind { A, B };
  using Alias = T;
 private:
  T value_;
};
}  // namespace outer::inner
template <typename T>
T outer::inner::Box<T>::get() const {
  class Local {};
  return value_;
}
Box::~Box() {
  release_everything();
}
inline Box::operator double() const {
  return 1.0 + something;
}
extern "C" {
int c_function(int a) {
  return a + a + a + a;
}
}
struct Plain { int x; void method(); };
TEST(Suite, Works) {
  EXPECT_TRUE(works_as_expected());
}
static void tail() NOTHROW_MACRO { }
constexpr int kConstant = 1;
"#;
    insta::assert_snapshot!(outline(Language::Cpp, text), @r"
    1 module outer::inner -
    3 class Box outer.inner
    5 method Box outer.inner.Box
    6 declaration ~Box outer.inner.Box
    7 method get outer.inner.Box
    8 declaration operator== outer.inner.Box
    9 method operator bool outer.inner.Box
    10 enum Kind outer.inner.Box
    10 variant A outer.inner.Box.Kind
    10 variant B outer.inner.Box.Kind
    11 type Alias outer.inner.Box
    13 field value_ outer.inner.Box
    17 method get outer.inner.Box
    18 class Local outer.inner.Box.get
    21 method ~Box Box
    24 method operator double Box
    28 function c_function -
    32 struct Plain -
    32 field x Plain
    32 declaration method Plain
    33 method Works Suite
    36 function tail -
    37 constant kConstant -
    ");
    let get = "T outer::inner::Box<T>::get() const {\n  class Local {};\n  return value_;\n}";
    assert!(text.contains(get));
}

#[test]
fn macros_are_found_where_the_parser_lost_its_way() {
    let text = "\
#else

static inline __printf(3, 0)
int emit(int level, const struct device *dev,
\t\t     const char *fmt, va_list args)
{ return 0; }
static inline void plain(const char *level,
\t\t\t\tstruct va_format *vaf)
{}
static inline __printf(3, 4)
void _dev_printk(const char *level, const struct device *dev,
\t\t const char *fmt, ...)
{}

#endif

/*
#define commented(out)
 */
#define dev_err(dev, fmt, ...) \\
\twrap(_dev_err, KERN_ERR, dev, fmt, ##__VA_ARGS__)
 #  define LAST 1
";
    let found = outline(Language::C, text);
    assert!(found.contains("20 macro dev_err -\n"), "{found}");
    assert!(found.contains("22 macro LAST -\n"), "{found}");
    assert!(!found.contains("commented"), "{found}");
    assert!(whole(Language::C, text, "dev_err").trim_end().ends_with("##__VA_ARGS__)"), "{found}");
}

#[cfg(feature = "cpp")]
#[test]
fn attributes_and_macros_around_definitions_of_cpp() {
    let table = [
        ("class EXPORT_MACRO(x) Foo final : public Bar {\n  int a;\n};\n", "1 class Foo -"),
        ("class EXPORT Foo {\n};\n", "1 class Foo -"),
        ("enum class Color : int { Red };\n", "1 enum Color -"),
        ("enum class API Color : int { Red };\n", "1 variant Red Color"),
        ("class [[nodiscard]] Status final {\n};\n", "1 class Status -"),
        ("struct __attribute__((packed)) Packet {\n  int a;\n};\n", "1 struct Packet -"),
        (
            "template <typename T, typename = int>\nclass API List<T*> : Base<T> {\n};\n",
            "2 class List -",
        ),
        ("[[nodiscard]] API(1) int size() { return 1; }\n", "1 function size -"),
        ("__attribute__((noinline, used)) void f() {}\n", "1 function f -"),
        ("struct A {\n  API_CONSTEXPR A(int b) noexcept : b(b) {}\n  int b;\n};\n", "2 method A A"),
        ("struct A {\n  void lock() EXCLUSIVE_LOCK(mu) { mu.lock(); }\n};\n", "2 method lock A"),
        (
            "LIB_BEGIN_NAMESPACE\nLIB_EXPORT_BEGIN\ntemplate <typename T> API auto f(T a) -> int {\n  return 1;\n}\nLIB_END_NAMESPACE\n#endif\n",
            "3 function f -",
        ),
        (
            "class Widget : public QWidget {\n  Q_OBJECT\n public:\n  explicit Widget(int a);\n};\n",
            "1 class Widget -",
        ),
    ];
    for (text, expected) in table {
        let found = outline(Language::Cpp, text);
        assert!(found.lines().any(|line| line == expected), "{text}{found}");
    }
}

#[cfg(feature = "c")]
#[test]
fn attributes_and_macros_around_definitions_of_c() {
    let table = [
        ("EXPORT(int) API_CALL parse(const char *text)\n{\n  return 0;\n}\n", "1 function parse -"),
        (
            "ATTRIBUTE(printf, 1, 2) static void report(const char *text)\n{\n  use(text);\n}\n",
            "1 function report -",
        ),
        (
            "__attribute__((format(printf, 1, 2)))\nstatic void report(const char *text, ...)\n{\n}\n",
            "2 function report -",
        ),
        (
            "#ifdef A\nint f(int a) {\n#else\nint g(int a) {\n#endif\n  return a;\n}\nint h(void) { return 1; }\n",
            "8 function h -",
        ),
        (
            "#if A\nstatic int one(void)\n{\n  return 1;\n}\n#else\nAPI_INLINE(2) int two(void)\n{\n  return 2;\n}\n#endif\n",
            "7 function two -",
        ),
        ("struct PACKED(1) packet {\n  int a;\n};\n", "1 struct packet -"),
        ("int f(int a) NONNULL(1)\n{\n  return a;\n}\n", "1 function f -"),
    ];
    for (text, expected) in table {
        let found = outline(Language::C, text);
        assert!(found.lines().any(|line| line == expected), "{text}{found}");
    }
}
