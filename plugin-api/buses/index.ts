/** For plugins that offer a kind of bus of the IO bridge: named handles, requests within bounds, operations and streams alike. */
export * from './bus-operations.ts';
export * from './bus-streams.ts';
export * from './bus-user.ts';
export * from './handle-table.ts';
export * from './listeners.ts';
