/** The door to `devicectl plugin check`, a program of its own. */
import '../kernel/testing/check/main.ts';
