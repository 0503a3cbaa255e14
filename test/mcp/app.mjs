/** Functions with the names and results that the conformance suite of the Model Context Protocol asks for. */
import { connectApp } from '@device-core/plugin-api/app';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const SILENCE = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==';
const text = (said) => ({ type: 'text', text: said });
const image = { type: 'image', data: PIXEL, mimeType: 'image/png' };
const resource = (uri, said) => ({ type: 'resource', resource: { uri, mimeType: 'text/plain', text: said } });

const app = await connectApp();
const tool = (name, idempotent, handler) =>
  app.provide(
    { name, version: '1.0.0', description: `Tool ${name} of the suite.`, returns: { content: 'array' }, idempotent },
    handler,
  );

await tool('simple_text', true, () => ({ content: [text('This is a simple text response for testing.')] }));
await tool('image_content', true, () => ({ content: [image] }));
await tool('audio_content', true, () => ({ content: [{ type: 'audio', data: SILENCE, mimeType: 'audio/wav' }] }));
await tool('embedded_resource', true, () => ({
  content: [resource('test://embedded-resource', 'This is an embedded resource content.')],
}));
await tool('multiple_content_types', true, () => ({
  content: [text('Multiple content types test:'), image, resource('test://mixed-content-resource', '{"test":"data"}')],
}));
await tool('error_handling', true, () => {
  throw new Error('This tool intentionally returns an error for testing');
});
await tool('logging_tool', true, () => ({ content: [text('done')] }));
await tool('streaming_elicitation', false, () => ({ content: [text('done')] }));
for (const name of ['elicitation', 'tampered_state', 'request_state', 'capabilities'])
  await tool(`input_required_result_${name}`, false, () => ({ content: [text('state-ok')] }));
let more = 0;
await tool('trigger_tool_change', true, async () => {
  more += 1;
  await tool(`more_${more}`, true, () => ({ content: [text('more')] }));
  return { content: [text('changed')] };
});
console.log('ready');
