#!/usr/bin/env node
import { enableCompileCache } from 'node:module';

// In an image it is JavaScript, and what lies in /tmp is code of whoever wrote it there.
if (import.meta.filename.endsWith('.ts')) enableCompileCache();

// A reader that went away (`devicectl events | head`) is no error: there is nobody left to talk to.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit();
  });

const { main } = await import('./main.ts');
process.exitCode = await main(process.argv.slice(2));
