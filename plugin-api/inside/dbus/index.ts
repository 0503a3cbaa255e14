/** A client of D-Bus over a Unix socket: calls, answers, signals. No descriptors, no services of its own (docs/adr/0076). */
export { connectDBus, type DBus, type DBusCall, type DBusOptions, type Signal, type SignalRule } from './connection.ts';
export { DBusError } from './error.ts';
export { type DBusValue, marshal, unmarshal, Variant } from './marshal.ts';
export { decode, encode, lengthOf, type Message } from './message.ts';
export { NO_SCOPE } from './no-scope.ts';
export { Units } from './systemd.ts';
