/** For plugins that offer a kind of bus: named handles, requests within bounds, the operation that lists handles. */
export * from './bus-operations.ts';
export * from './bus-user.ts';
export * from './endpoint-class.ts';
export * from './handle-table.ts';
