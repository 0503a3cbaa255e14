/** For plugins that offer a kind of bus: named handles, requests within bounds, the operation that lists handles. */
export { BUS_ERRORS, HANDLE_NAME, handlesOperation } from './bus-operations.ts';
export type { BusCallOptions, BusRequest, BusUserOptions } from './bus-requests.ts';
export { BusUser } from './bus-user.ts';
export { ENDPOINT_CLASS } from './endpoint-class.ts';
export { answeredTooLittle, type Executed, executedByStatus, executedIn, saysExecuted } from './executed.ts';
export { type HandleRow, HandleTable } from './handle-table.ts';
