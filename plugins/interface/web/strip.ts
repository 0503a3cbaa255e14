/** Types off, for browsers. The one place that asks Node for it: the call is experimental in Node 24, and a test tells when it changes. */
import { stripTypeScriptTypes } from 'node:module';

/** The same text without types; lines and columns stay where they are. Throws SyntaxError for what cannot be stripped. */
export function withoutTypes(source: string): string {
  // A test watches for a change; whoever starts a device can do nothing about the warning.
  const warn = process.emitWarning;
  process.emitWarning = () => undefined;
  try {
    return stripTypeScriptTypes(source, { mode: 'strip' });
  } finally {
    process.emitWarning = warn;
  }
}
