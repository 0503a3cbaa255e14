/** How good or bad something is; colour and shape follow it. */
export type Level = 'okay' | 'warn' | 'error' | 'info' | 'quiet';
