export { rollback as program } from './order.ts';
