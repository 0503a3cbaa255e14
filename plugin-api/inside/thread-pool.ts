/** Threads of the process that files, names and calls of the kernel share; `kernel/start.js` sets their number before the first is used. */
export const THREADS = Number(process.env.UV_THREADPOOL_SIZE ?? 4);
