export { apply as program } from './order.ts';
