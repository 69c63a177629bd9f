// Package jsonedit changes a JSON text in place: values are put and removed by their path, and what no change is about
// keeps every byte, spelling and order.
//
// Invariants: the text is JSON before and after each change. A text with a comment, or with a key twice in one object, is
// refused with the line of the mistake. What is added takes on the indentation, line ends and spacing of what is around it.
//
// It reads and writes no files, and does not know what the values mean.
package jsonedit
