/**
 * First process of a guest that reaches named hosts, inside its own network:
 * `forwarder.js <socket> <program> [argument...]`. What the guest connects to on 127.0.0.1:3128 arrives at the socket,
 * where plugin `egress` listens. Signals, standard streams and the end of the program pass through. It is JavaScript,
 * so that no guest pays for the stripping of types.
 */
import { spawn } from 'node:child_process';
import { connect, createServer } from 'node:net';

const PASSED = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGCONT'];
const NOT_FOUND = 127;
const [socket, program, ...args] = process.argv.slice(2);

const listener = createServer({ allowHalfOpen: true }, (inner) => {
  const outer = connect({ path: socket, allowHalfOpen: true });
  for (const [one, other] of [
    [inner, outer],
    [outer, inner],
  ]) {
    one.on('error', () => other.destroy());
    one.on('close', () => other.destroy());
    one.pipe(other);
  }
});

/** In a session of its own, so that a signal for the group of this process arrives once. */
function start() {
  const child = spawn(program, args, { stdio: 'inherit', detached: true });
  for (const name of PASSED) process.on(name, () => child.pid !== undefined && process.kill(-child.pid, name));
  child.once('error', (error) => {
    process.stderr.write(`cannot run ${program}: ${error.message}\n`);
    process.exit(NOT_FOUND);
  });
  child.once('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

listener.once('error', (error) => {
  process.stderr.write(`there is no way out: ${error.message}\n`);
  start();
});
listener.listen(3128, '127.0.0.1', start);
