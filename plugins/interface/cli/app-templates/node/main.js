import { connectApp } from '@device-core/app';
import { greet } from './greeting.js';

const app = await connectApp();

// A setting: the value that holds now, and every change of it.
let greeting = await app.config.get('greeting');
app.config.onChange(({ key, value }) => {
  if (key === 'greeting') greeting = value;
});

// The function of app.yaml, which says what goes in and what comes out.
await app.provide('appId.greet', async ({ name }) => {
  const text = greet(greeting, name);
  await app.events.publish('app.com.example.app-id.event.greeted', { name });
  return { text, say: text };
});

console.log('ready');
console.log(`stopped: ${await app.stopped}`);
