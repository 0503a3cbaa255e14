/** The attacker of the rows of fairness: a thread of its own, so that the innocent client does not wait for it here. It ends when it is terminated. */
import { connect } from 'node:net';
import { workerData } from 'node:worker_threads';

export interface Flood {
  readonly connections: number;
  readonly requests: number;
  readonly text: string;
  /** Else the attacker never reads. */
  readonly reads: boolean;
  /** Over the shared socket, where the caller is the operator. */
  readonly unix?: boolean;
  /** Over TCP with the token of this app. */
  readonly token?: string;
  /** Over the socket of this app. */
  readonly app?: string;
}

export interface Attack {
  readonly flood: Flood;
  readonly port: number;
  readonly socket: string;
}

const { flood, port, socket: path } = workerData as Attack;
for (let count = 0; count < flood.connections; count++) {
  const socket = flood.unix || flood.app ? connect(path) : connect(port, '127.0.0.1');
  socket.on('error', () => socket.destroy()); // it was turned away, which is what is measured
  if (flood.reads) socket.resume();
  else socket.pause();
  socket.write(flood.text.repeat(flood.requests));
}
