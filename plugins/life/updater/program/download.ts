export { download as program } from './order.ts';
