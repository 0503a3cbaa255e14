import assert from 'node:assert/strict';
import { test } from 'node:test';
import { greet } from './greeting.js';

test('somebody is greeted by name', () => {
  assert.equal(greet('Hello', 'Ada'), 'Hello, Ada!');
});
