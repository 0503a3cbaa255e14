export { update as program } from './bring.ts';
