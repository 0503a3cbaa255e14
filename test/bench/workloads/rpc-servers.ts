/** A process of its own: one peer that answers echo on a Unix socket, as its documentation shows it. `node rpc-servers.ts <kind> <path>` */
import { createServer as createHttp } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { peer } from '../harness.ts';

type Echo = { readonly text: string };
// biome-ignore lint/suspicious/noExplicitAny: the peers' own types are not installed with the product
type Any = any;

const answer = ({ text }: Echo): Echo => ({ text });

/** Each starts listening and calls back. */
const SERVERS: Readonly<Record<string, (path: string, listening: () => void) => unknown>> = {
  echo: (path, listening) =>
    createServer((socket) => socket.on('data', (chunk) => socket.write(chunk))).listen(path, listening),

  async 'vscode-jsonrpc'(path, listening) {
    const rpc = await peer<Any>('vscode-jsonrpc/node');
    createServer((socket: Socket) => {
      const connection = rpc.createMessageConnection(
        new rpc.StreamMessageReader(socket),
        new rpc.StreamMessageWriter(socket),
      );
      connection.onRequest('bench.echo', answer);
      connection.listen();
    }).listen(path, listening);
  },

  async jayson(path, listening) {
    const { default: jayson } = await peer<Any>('jayson');
    const echo = (params: Echo, callback: (error: null, result: Echo) => void) => callback(null, answer(params));
    new jayson.Server({ 'bench.echo': echo }).tcp().listen(path, listening);
  },

  async 'grpc-js'(path, listening) {
    const { default: grpc } = await peer<Any>('@grpc/grpc-js');
    const server = new grpc.Server();
    const echo = (call: { request: Echo }, callback: (error: null, result: Echo) => void) =>
      callback(null, answer(call.request));
    server.addService({ echo: grpcMethod() }, { echo });
    server.bindAsync(`unix:${path}`, grpc.ServerCredentials.createInsecure(), listening);
  },

  async ws(path, listening) {
    const { WebSocketServer } = await peer<Any>('ws');
    const http = createHttp();
    new WebSocketServer({ server: http }).on('connection', (socket: Any) => {
      socket.on('message', (data: Buffer) => {
        const { id, params } = JSON.parse(data.toString());
        socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: answer(params) }));
      });
    });
    http.listen(path, listening);
  },

  http(path, listening) {
    createHttp((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part) => parts.push(part));
      request.on('end', () => {
        const body = JSON.stringify(answer(JSON.parse(Buffer.concat(parts).toString())));
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
        response.end(body);
      });
    }).listen(path, listening);
  },
};

/** JSON over gRPC: the peer is spared protobuf's compiler, and everybody carries the same bytes. */
export function grpcMethod(): object {
  const serialize = (value: object): Buffer => Buffer.from(JSON.stringify(value));
  const deserialize = (bytes: Buffer): object => JSON.parse(bytes.toString());
  return {
    path: '/bench/echo',
    requestStream: false,
    responseStream: false,
    requestSerialize: serialize,
    requestDeserialize: deserialize,
    responseSerialize: serialize,
    responseDeserialize: deserialize,
  };
}

const [kind = '', path = ''] = process.argv.slice(2);
if (import.meta.main) {
  process.once('disconnect', () => process.exit());
  await SERVERS[kind]?.(path, () => process.send?.('listening'));
}
