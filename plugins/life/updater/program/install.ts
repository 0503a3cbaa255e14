export { install as program } from './order.ts';
