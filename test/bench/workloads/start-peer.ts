/** The peer of rows 12 and 13: fastify, and the plugins named on the command line by plain import, listening. */
interface Fastify {
  get(path: string, options: object, handler: () => Promise<object>): void;
  listen(options: object): Promise<string>;
}

const framework: string = 'fastify'; // of test/bench/node_modules, which the type check does without
const { fastify } = (await import(framework)) as { readonly fastify: () => Fastify };
const app = fastify();
const schema = { response: { 200: { type: 'object', properties: { ok: { type: 'boolean' } } } } };
app.get('/health', { schema }, async () => ({ ok: true }));
await Promise.all(process.argv.slice(2).map((file) => import(file)));
console.log(await app.listen({ port: 0, host: '127.0.0.1' }));
