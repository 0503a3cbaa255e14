export { install as program } from './bring.ts';
